"""Make Superset's database, its user admin, and the connections to the lake (Trino) and to the serving store.

Safe to run again: nothing that is there is made twice, and passwords are brought up to date.
"""

from __future__ import annotations

from superset.app import create_app
from superset_config import read_secret

USER = "admin"
CONNECTIONS = {
    "Lake (Trino)": "trino://superset@trino:8080/hive",
    "Serving store": f"mysql+pymysql://lakehouse:{read_secret('mariadb_password')}@mariadb:3306/serving",
}


def main() -> None:
    """Do it all in the application's own context."""
    app = create_app()
    with app.app_context():
        from flask_migrate import upgrade
        from superset import appbuilder, db
        from superset.models.core import Database

        upgrade()
        appbuilder.add_permissions(update_perms=True)
        security = appbuilder.sm
        security.sync_role_definitions()
        if security.find_user(USER) is None:
            role = security.find_role("Admin")
            security.add_user(USER, USER, USER, f"{USER}@example.invalid", role, read_secret("admin_password"))
        for name, uri in CONNECTIONS.items():
            found = db.session.query(Database).filter_by(database_name=name).one_or_none()
            found = found or Database(database_name=name, expose_in_sqllab=True)
            # Superset keeps the password apart from the URI, encrypted by its key.
            found.set_sqlalchemy_uri(uri)
            db.session.add(found)
        db.session.commit()
    print(f"superset: user {USER}, connections {', '.join(CONNECTIONS)}")


if __name__ == "__main__":
    main()
