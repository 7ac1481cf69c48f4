/// Which of the package's own modules a folder may import. This table is the architecture's; the sources follow it.
enum ImportTable {
  static let allowed: [String: Set<String>] = [
    // The C declarations of the runtime without a Swift interface.
    "Modules/Runtime": [],
    "Modules/Core": ["CoherenceRuntime"],
    "Modules/Strategies": ["CoherenceCore"],
    "Modules/Reconciliation": ["CoherenceCore"],
    "Modules/IdentityMap": ["CoherenceRuntime"],
    "Modules/Actions": ["CoherenceCore", "CoherenceReconciliation", "CoherenceStrategies"],
    "Modules/Outbox": ["CoherenceCore", "CoherenceStrategies", "CoherenceActions"],
    "Modules/PersistedActions": ["CoherenceCore", "CoherenceStrategies", "CoherenceActions"],
    "Modules/Mapping": ["CoherenceCore", "CoherenceReconciliation", "CoherenceStrategies", "CoherenceIdentityMap"],
    "Modules/Macros": ["CoherenceCore", "CoherenceIdentityMap"],
    "Modules/ModelMacros": ["CoherenceCore"],
    "Modules/ModelFiles": ["CoherenceCore"],
    "Modules/ModelCode": ["CoherenceCore", "CoherenceModelFiles"],
    "Modules/ModelTool": ["CoherenceCore", "CoherenceModelCode"],
    "Modules/ModelPlugin": [],
    "Modules/HTTP": ["CoherenceCore", "CoherenceActions"],
    "Modules/AsyncHTTP": ["CoherenceCore", "CoherenceHTTP"],
    "Modules/Refresh": ["CoherenceCore", "CoherenceStrategies", "CoherenceActions"],
    "Modules/Service": ["CoherenceCore", "CoherenceStrategies", "CoherenceActions"],
    "Modules/Telemetry": ["CoherenceCore"],
    // The face, which alone knows backends.
    "Modules/Coherence": [
      "CoherenceCore", "CoherenceStrategies", "CoherenceIdentityMap", "CoherenceActions", "CoherenceMapping",
      "CoherenceInMemory", "CoherenceSQLite",
    ],
    "Backends/CLibPQ": [],
    "Backends/InMemory": ["CoherenceCore"],
    "Backends/SQL": ["CoherenceCore"],
    "Backends/SQLite": ["CoherenceCore", "CoherenceSQL"],
    "Backends/PostgreSQL": ["CoherenceCore", "CoherenceSQL"],
    "Tests/ConformanceKit": ["CoherenceCore"],
  ]
}
