/// Which folders of a module may use which folders of the same module.
///
/// A folder uses another when a file of the first names a type that a file of the second declares at its top level.
/// `FolderDirectionTests` prints the entries that the sources ask for.
enum FolderTable {
  static let allowed: [String: [String: Set<String>]] = [
    "Backends/PostgreSQL": [
      "Connection": ["Dialect", "Failures", "Protocol"],
      "Dialect": ["Protocol"],
      "Failures": ["Protocol"],
      "Pool": ["Connection", "Dialect", "Protocol", "Reading"],
      "Protocol": [],
      "Reading": ["Connection", "Dialect", "Protocol", "Store"],
      "Save": ["Connection", "Dialect", "Failures", "Pool", "Protocol", "Reading", "Store"],
      "Store": ["Connection", "Dialect", "Pool", "Protocol", "Reading"],
    ],
    "Backends/SQL": [
      "Language": [],
      "Query": ["Language", "Schema"],
      "Save": ["Language", "Schema"],
      "Schema": ["Language"],
    ],
    "Backends/SQLite": [
      "Connection": ["Dialect", "Files"],
      "Dialect": [],
      "Files": [],
      "Reading": ["Connection", "Dialect", "Files", "Store"],
      "Save": ["Connection", "Dialect", "Files", "Reading", "Store"],
      "Store": ["Connection", "Dialect", "Files", "Reading"],
    ],
    "Modules/Actions": [
      "Action": ["Context", "Lifecycle", "Options", "Scheduling", "States", "Statistics"],
      "Connect": ["Action", "Context", "Dispatching", "Entities", "Events", "PendingEdits", "States"],
      "Connectivity": [],
      "Context": ["Entities", "PendingEdits", "Statistics"],
      "Dispatching": ["Action", "Entities", "Events", "Options", "Scheduling"],
      "Entities": [],
      "Events": ["Action", "Scheduling", "States"],
      "Lifecycle": ["States", "Statistics"],
      "Merge": ["Context", "Entities", "PendingEdits"],
      "Options": [],
      "PendingEdits": [],
      "Scheduling": ["Options"],
      "States": [],
      "Statistics": [],
      "Timing": [],
    ],
    "Modules/Core": [
      "Changes": ["Errors", "Model", "Values"],
      "Confinement": ["Errors"],
      "Context": [
        "Changes", "Confinement", "Coordinator", "Errors", "Model", "Objects", "Observation", "Query", "Requests",
        "Store", "Values",
      ],
      "Coordinator": ["Changes", "Confinement", "Errors", "Model", "Observation", "Store", "Values"],
      "Errors": ["Model", "Values"],
      "LiveResults": [
        "Confinement", "Context", "Coordinator", "Errors", "Model", "Objects", "Observation", "Query", "Reading",
        "Requests", "Store", "Values",
      ],
      "Model": ["Errors", "Objects", "Text", "Values"],
      "Objects": ["Context", "Errors", "Model", "Query", "Values"],
      "Observation": ["Errors", "Model", "Values"],
      "Query": ["Errors", "Model", "Text", "Values"],
      "Reading": [
        "Confinement", "Context", "Coordinator", "Errors", "Model", "Objects", "Observation", "Query", "Requests",
        "Snapshots", "Store", "Values",
      ],
      "Requests": ["Errors", "Model", "Objects", "Query", "Text", "Values"],
      "Save": [
        "Changes", "Confinement", "Context", "Coordinator", "Errors", "Model", "Objects", "Observation", "Query",
        "Requests", "Store", "Text", "Values",
      ],
      "Snapshots": ["Context", "Errors", "Model", "Objects", "Requests", "Store", "Values"],
      "Store": ["Changes", "Errors", "Model", "Query", "Text", "Values"],
      "Text": ["Errors"],
      "Values": ["Confinement", "Errors", "Model"],
    ],
    "Modules/HTTP": [
      "Body": ["Files"],
      "Caching": ["Client", "Messages"],
      "Client": ["Files", "Messages"],
      "Connectivity": ["Client", "Messages", "Timing"],
      "Errors": [],
      "Events": ["Body", "Client", "Errors", "Timing"],
      "Files": [],
      "Messages": ["Body", "Errors"],
      "Paging": ["Client", "Errors", "Messages", "Redirects"],
      "Redirects": ["Body", "Client", "Errors", "Messages"],
      "Replay": ["Client", "Errors", "Files", "Messages"],
      "Retry": ["Client", "Errors", "Messages", "Timing"],
      "Timing": [],
      "Transfer": ["Body", "Client", "Errors", "Messages", "Redirects", "Timing"],
    ],
    "Modules/Outbox": [
      "Agreement": ["Entry", "Model", "Planning", "Recording"],
      "Conflicts": ["Agreement", "Entry", "Model", "Operations", "Recording"],
      "Entry": ["Model"],
      "Forwarding": ["Agreement", "Conflicts", "Entry", "Model", "Operations", "Planning"],
      "Model": [],
      "Operations": ["Agreement", "Entry", "Model", "Planning", "Recording"],
      "Planning": ["Entry", "Model"],
      "Recording": ["Entry", "Model"],
    ],
    "Modules/IdentityMap": [
      "Archive": ["Engine", "Model", "Observation", "Store", "Threading"],
      "Collections": [],
      "Comparison": [],
      "Diagnostics": ["Engine", "Model", "Store"],
      "Engine": ["Collections", "Comparison", "Model", "Threading"],
      "Model": ["Engine"],
      "Observation": ["Engine", "Model", "Store"],
      "Store": ["Engine", "Model", "Observation"],
      "Threading": [],
    ],
    "Modules/ModelFiles": [
      "Building": ["Model"],
      "Model": [],
      "Packages": ["Building", "Model", "Reading", "Writing"],
      "Reading": ["Model"],
      "Writing": ["Building", "Model", "Reading"],
    ],
    "Modules/Mapping": [
      "Coding": [],
      "Errors": [],
      "Manager": ["Mappings", "Records", "Saving", "Sync", "Threads", "Transactions"],
      "Mappings": ["Coding", "Records"],
      "Records": [],
      "Saving": ["Mappings", "Records", "Sync"],
      "Sync": ["Records"],
      "Threads": [],
      "Transactions": ["Mappings", "Records", "Saving", "Sync"],
    ],
    "Modules/PersistedActions": [
      "Attempts": ["Records", "Values"],
      "Enqueueing": ["Attempts", "Records", "Values"],
      "Operations": ["Records", "Values"],
      "Records": ["Values"],
      "Running": ["Attempts", "Records", "Values"],
      "Values": [],
    ],
    "Modules/Reconciliation": [
      ".": ["Tables"],
      "Tables": [],
    ],
    "Modules/Refresh": [
      "Refresher": ["Requests", "Scopes", "Settings", "Status"],
      "Requests": ["Status"],
      "Scopes": ["Requests", "Settings", "Status"],
      "Settings": [],
      "Status": [],
    ],
    "Modules/Strategies": [
      "Container": ["Context", "Strategy"],
      "Context": [],
      "Strategy": ["Context"],
    ],
  ]

  /// Two folders that use each other, and why neither can do without the other.
  static let inherentPairs: [FolderPair: String] = [
    FolderPair("Backends/PostgreSQL", "Reading", "Store"):
      "A store makes readers, and a reader uses the pool and the tables of its store.",
    FolderPair("Backends/SQLite", "Reading", "Store"):
      "A store makes readers, and a reader uses the connections and the tables of its store.",
    FolderPair("Modules/Core", "Context", "Objects"):
      "An object belongs to a context, and the context makes, keeps and changes objects.",
    FolderPair("Modules/Core", "Errors", "Model"):
      "The model throws errors, and the conflict of an ordered list has the relationship.",
    FolderPair("Modules/Core", "Errors", "Values"):
      "A value that does not fit its type throws an error, and an error has identifiers and rows.",
    FolderPair("Modules/Core", "Model", "Objects"):
      "An entity names the class of its objects, and an object has an entity.",
    FolderPair("Modules/Core", "Model", "Values"):
      "An attribute has a default value, and a row and a space of identifiers have an entity.",
    FolderPair("Modules/IdentityMap", "Engine", "Model"):
      "A key path of a nested entity makes its accessor while the static types are known.",
    FolderPair("Modules/IdentityMap", "Observation", "Store"):
      "A store returns observers, and the public name of a subscription is nested in the store.",
  ]

  /// Pairs of folders that use each other, although the direction should be one-way. This list may only shrink.
  static let undividedPairs: Set<FolderPair> = []
}
