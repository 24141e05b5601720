"""Apache Kafka's broker and Kafka Connect, with Debezium's connectors: what a lake reads in tests and on one machine.

Their logging is PySpark's (:mod:`local_stack.servers.kafka`).
"""

from __future__ import annotations

from local_stack.install.jars import JarSet
from local_stack.layout import PROJECT_ROOT

KAFKA_JARS = JarSet(
    folder=PROJECT_ROOT / ".jars-kafka",
    coordinates=(
        # What is wanted; the broker is the one of docker-compose.yaml.
        "org.apache.kafka:kafka_2.13:4.3.0",
        "org.apache.kafka:connect-runtime:4.3.0",
        "org.apache.kafka:connect-json:4.3.0",
        "io.debezium:debezium-connector-postgres:3.5.0.Final",
        "io.debezium:debezium-connector-mariadb:3.5.0.Final",
        # What these need.
        *("at.yawk.lz4:lz4-java:1.10.2", "com.dynatrace.hash4j:hash4j:0.22.0"),
        *("com.fasterxml.jackson.core:jackson-annotations:2.21", "com.fasterxml.jackson.core:jackson-core:2.21.2"),
        "com.fasterxml.jackson.core:jackson-databind:2.21.2",
        "com.fasterxml.jackson.dataformat:jackson-dataformat-csv:2.21.2",
        "com.fasterxml.jackson.dataformat:jackson-dataformat-yaml:2.21.2",
        "com.fasterxml.jackson.datatype:jackson-datatype-jdk8:2.21.2",
        "com.fasterxml.jackson.datatype:jackson-datatype-jsr310:2.19.0",
        "com.fasterxml.jackson.jakarta.rs:jackson-jakarta-rs-base:2.21.2",
        "com.fasterxml.jackson.jakarta.rs:jackson-jakarta-rs-json-provider:2.21.2",
        "com.fasterxml.jackson.module:jackson-module-blackbird:2.21.2",
        "com.fasterxml.jackson.module:jackson-module-jakarta-xmlbind-annotations:2.21.2",
        *("com.github.ben-manes.caffeine:caffeine:3.2.0", "com.github.luben:zstd-jni:1.5.6-10"),
        *("com.google.protobuf:protobuf-java:3.25.5", "com.google.re2j:re2j:1.8"),
        *("com.sun.activation:jakarta.activation:2.0.1", "com.typesafe.scala-logging:scala-logging_2.13:3.9.6"),
        *("com.yammer.metrics:metrics-core:2.2.0", "commons-beanutils:commons-beanutils:1.11.0"),
        *("commons-collections:commons-collections:3.2.2", "commons-digester:commons-digester:2.1"),
        *("commons-logging:commons-logging:1.3.5", "commons-validator:commons-validator:1.10.1"),
        *("io.debezium:debezium-api:3.5.0.Final", "io.debezium:debezium-config:3.5.0.Final"),
        *("io.debezium:debezium-connect-plugins:3.5.0.Final", "io.debezium:debezium-connector-binlog:3.5.0.Final"),
        *("io.debezium:debezium-connector-common:3.5.0.Final", "io.debezium:debezium-ddl-parser:3.5.0.Final"),
        *("io.debezium:debezium-openlineage-api:3.5.0.Final", "io.debezium:debezium-storage-file:3.5.0.Final"),
        *("io.debezium:debezium-storage-kafka:3.5.0.Final", "io.debezium:debezium-util:3.5.0.Final"),
        *("io.debezium:mysql-binlog-connector-java:0.40.6", "io.github.classgraph:classgraph:4.8.179"),
        *("jakarta.activation:jakarta.activation-api:2.1.0", "jakarta.annotation:jakarta.annotation-api:2.1.1"),
        *("jakarta.inject:jakarta.inject-api:2.0.1", "jakarta.servlet:jakarta.servlet-api:6.0.0"),
        *("jakarta.validation:jakarta.validation-api:3.0.2", "jakarta.ws.rs:jakarta.ws.rs-api:3.1.0"),
        *("jakarta.xml.bind:jakarta.xml.bind-api:3.0.1", "javax.activation:activation:1.1.1"),
        *("javax.activation:javax.activation-api:1.2.0", "javax.xml.bind:jaxb-api:2.3.1"),
        *("net.sf.jopt-simple:jopt-simple:5.0.4", "net.sourceforge.argparse4j:argparse4j:0.7.0"),
        *("org.antlr:antlr4-runtime:4.10.1", "org.apache.kafka:connect-api:4.3.0"),
        *("org.apache.kafka:connect-transforms:4.3.0", "org.apache.kafka:kafka-clients:4.3.0"),
        *("org.apache.kafka:kafka-coordinator-common:4.3.0", "org.apache.kafka:kafka-group-coordinator:4.3.0"),
        *("org.apache.kafka:kafka-group-coordinator-api:4.3.0", "org.apache.kafka:kafka-metadata:4.3.0"),
        *("org.apache.kafka:kafka-raft:4.3.0", "org.apache.kafka:kafka-server:4.3.0"),
        *("org.apache.kafka:kafka-server-common:4.3.0", "org.apache.kafka:kafka-share-coordinator:4.3.0"),
        *("org.apache.kafka:kafka-storage:4.3.0", "org.apache.kafka:kafka-storage-api:4.3.0"),
        *("org.apache.kafka:kafka-tools-api:4.3.0", "org.apache.kafka:kafka-transaction-coordinator:4.3.0"),
        *("org.apache.maven:maven-artifact:3.9.15", "org.bitbucket.b_c:jose4j:0.9.6"),
        *("org.checkerframework:checker-qual:3.49.3", "org.codehaus.plexus:plexus-utils:3.6.1"),
        *("org.eclipse.jetty.ee10:jetty-ee10-servlet:12.0.34", "org.eclipse.jetty.ee10:jetty-ee10-servlets:12.0.34"),
        *("org.eclipse.jetty:jetty-alpn-client:12.0.34", "org.eclipse.jetty:jetty-client:12.0.34"),
        *("org.eclipse.jetty:jetty-http:12.0.34", "org.eclipse.jetty:jetty-io:12.0.34"),
        *("org.eclipse.jetty:jetty-security:12.0.34", "org.eclipse.jetty:jetty-server:12.0.34"),
        *("org.eclipse.jetty:jetty-session:12.0.34", "org.eclipse.jetty:jetty-util:12.0.34"),
        *("org.glassfish.hk2.external:aopalliance-repackaged:3.0.6", "org.glassfish.hk2:hk2-api:3.0.6"),
        *("org.glassfish.hk2:hk2-locator:3.0.6", "org.glassfish.hk2:hk2-utils:3.0.6"),
        "org.glassfish.hk2:osgi-resource-locator:1.0.3",
        "org.glassfish.jersey.containers:jersey-container-servlet:3.1.10",
        "org.glassfish.jersey.containers:jersey-container-servlet-core:3.1.10",
        *("org.glassfish.jersey.core:jersey-client:3.1.10", "org.glassfish.jersey.core:jersey-common:3.1.10"),
        *("org.glassfish.jersey.core:jersey-server:3.1.10", "org.glassfish.jersey.inject:jersey-hk2:3.1.10"),
        *("org.hdrhistogram:HdrHistogram:2.2.2", "org.javassist:javassist:3.30.2-GA", "org.jspecify:jspecify:1.0.0"),
        *("org.mariadb.jdbc:mariadb-java-client:3.5.3", "org.pcollections:pcollections:4.0.2"),
        *("org.postgresql:postgresql:42.7.7", "org.xerial.snappy:snappy-java:1.1.10.7", "org.yaml:snakeyaml:2.5"),
    ),
    excludes=(
        *("org.slf4j:slf4j-api", "org.apache.logging.log4j:log4j-api", "org.apache.logging.log4j:log4j-core"),
        *("org.scala-lang:scala-reflect", "io.swagger.core.v3:swagger-annotations"),
    ),
    apart=("org.scala-lang:scala-library:2.13.18",),
)
