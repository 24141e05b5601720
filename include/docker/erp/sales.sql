-- The ERP's database with its one table of sales events, captured by SQL Server itself. Safe to run again.
-- $(DEBEZIUM_PASSWORD) comes from the environment of sqlcmd.
IF DB_ID('ERP') IS NULL CREATE DATABASE ERP;
GO
USE ERP;
GO
IF OBJECT_ID('dbo.SALES') IS NULL
    CREATE TABLE dbo.SALES (
        SaleId BIGINT NOT NULL PRIMARY KEY,
        AgentId BIGINT, AgentName NVARCHAR(200),
        UnitId BIGINT, UnitName NVARCHAR(200),
        BuildingId BIGINT, BuildingName NVARCHAR(200),
        ProjectId BIGINT, ProjectName NVARCHAR(200),
        StatusId BIGINT, StatusName NVARCHAR(200),
        ContractSubtotal DECIMAL(18, 4), ContractSigningDate DATETIME,
        CustomerId BIGINT, CustomerName NVARCHAR(200)
    );
GO
IF (SELECT is_cdc_enabled FROM sys.databases WHERE name = 'ERP') = 0 EXEC sys.sp_cdc_enable_db;
GO
IF NOT EXISTS (SELECT 1 FROM sys.tables WHERE object_id = OBJECT_ID('dbo.SALES') AND is_tracked_by_cdc = 1)
    EXEC sys.sp_cdc_enable_table @source_schema = 'dbo', @source_name = 'SALES', @role_name = 'cdc_reader',
        @supports_net_changes = 0;
GO
IF SUSER_ID('debezium') IS NULL CREATE LOGIN debezium WITH PASSWORD = '$(DEBEZIUM_PASSWORD)', DEFAULT_DATABASE = ERP;
GO
ALTER LOGIN debezium WITH PASSWORD = '$(DEBEZIUM_PASSWORD)';
GO
IF USER_ID('debezium') IS NULL CREATE USER debezium FOR LOGIN debezium;
GO
-- What the connector reads: the table for its snapshot, the captured changes, and how far the capture is.
GRANT SELECT ON dbo.SALES TO debezium;
GRANT SELECT ON SCHEMA::cdc TO debezium;
ALTER ROLE cdc_reader ADD MEMBER debezium;
GRANT VIEW DATABASE STATE TO debezium;
GO
USE master;
GO
GRANT VIEW SERVER STATE TO debezium;
GO
