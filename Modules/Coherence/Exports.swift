// One import for what most applications need. PostgreSQL and the SQL toolkit are imported by who uses them.
@_exported import CoherenceActions
@_exported import CoherenceCore
@_exported import CoherenceInMemory
@_exported import CoherenceSQLite
@_exported import CoherenceStrategies
