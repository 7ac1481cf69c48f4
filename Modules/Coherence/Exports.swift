// One import for most applications. A program with PostgreSQL stores also imports `CoherencePostgreSQL`.
@_exported import CoherenceActions
@_exported import CoherenceCore
@_exported import CoherenceInMemory
@_exported import CoherenceSQLite
@_exported import CoherenceStrategies
