#!/usr/bin/env bash
# Give Kafka Connect its connector, or the connector's newest settings; the address of its REST API is the one argument.
set -euo pipefail
cd "$(dirname "$0")"
curl --fail-with-body --silent --show-error --retry 5 --retry-connrefused \
    --request PUT --header "Content-Type: application/json" --data "@source.json" \
    "$1/connectors/erp-source/config" >/dev/null
echo "connector erp-source is set"
