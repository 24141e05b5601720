"""Make Superset's database, its user admin, the connections to the lake (Trino) and the serving store, and dashboards.

Safe to run again: nothing that is there is made twice, passwords are brought up to date, and the dashboards, charts and
datasets of this project become those of its files again. Copies under other names are left as they are.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml
from sqlalchemy.engine import make_url
from superset.app import create_app
from superset_config import read_secret

USER = "admin"
LAKE, LAKE_URI = "Lake (Trino)", "trino://superset@trino:8080/hive"
DATABASE = "databases/serving_store.yaml"
DASHBOARDS = Path(os.environ.get("DASHBOARDS_PATH", "/opt/superset/dashboards"))


def read_export() -> tuple[dict[str, str], dict[str, Any]]:
    """The files of the dashboards by their path, and the serving store's with its address and password put in."""
    files = DASHBOARDS.rglob("*.yaml")
    contents = {str(file.relative_to(DASHBOARDS)): file.read_text(encoding="utf-8") for file in files}
    store = yaml.safe_load(contents[DATABASE])
    url = make_url(os.environ.get("SERVING_STORE_URI") or store["sqlalchemy_uri"])
    if url.username:
        url = url.set(password=read_secret("mariadb_password"))
    store["sqlalchemy_uri"] = url.render_as_string(hide_password=False)
    contents[DATABASE] = yaml.safe_dump(store)
    return contents, store


def main() -> None:
    """Do it all in the application's own context."""
    app = create_app()
    with app.app_context():
        from flask_migrate import upgrade
        from superset import appbuilder, db
        from superset.commands.importers.v1.assets import ImportAssetsCommand
        from superset.models.core import Database
        from superset.utils.core import override_user

        upgrade()
        appbuilder.add_permissions(update_perms=True)
        security = appbuilder.sm
        security.sync_role_definitions()
        if security.find_user(USER) is None:
            role = security.find_role("Admin")
            security.add_user(USER, USER, USER, f"{USER}@example.invalid", role, read_secret("admin_password"))
        contents, store = read_export()
        for name, uri in ((LAKE, LAKE_URI), (store["database_name"], store["sqlalchemy_uri"])):
            found = db.session.query(Database).filter_by(database_name=name).one_or_none()
            found = found or Database(database_name=name, expose_in_sqllab=True)
            if name != LAKE:
                found.uuid = store["uuid"]  # an earlier release made it under one of its own
            # Superset keeps the password apart from the URI, encrypted by its key.
            found.set_sqlalchemy_uri(uri)
            db.session.add(found)
        db.session.commit()
        with override_user(security.find_user(USER)):
            ImportAssetsCommand(contents).run()
    made = (yaml.safe_load(text) for name, text in contents.items() if name.startswith("dashboards/"))
    titles = sorted(each["dashboard_title"] for each in made)
    print(f"superset: user {USER}, connections {LAKE}, {store['database_name']}, dashboards {', '.join(titles)}")


if __name__ == "__main__":
    main()
