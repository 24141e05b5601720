#!/usr/bin/env bash
# Give Kafka Connect its two connectors, or their newest settings; the address of its REST API is the one argument.
set -euo pipefail
cd "$(dirname "$0")"
umask 0002 # an erasure edits the files in this folder
mkdir -p /landing/erp.ERP.dbo.SALES
for name in source landing; do
    curl --fail-with-body --silent --show-error --retry 5 --retry-connrefused \
        --request PUT --header "Content-Type: application/json" --data "@$name.json" \
        "$1/connectors/erp-$name/config" >/dev/null
    echo "connector erp-$name is set"
done
