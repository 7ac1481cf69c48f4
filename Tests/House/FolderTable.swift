/// Which folders of a module may use which folders of the same module.
///
/// A folder uses another when a file of the first names a type that a file of the second declares at its top level.
/// `FolderDirectionTests` prints the entries that the sources ask for.
enum FolderTable {
  static let allowed: [String: [String: Set<String>]] = [
    "Backends/SQL": [
      "Language": ["Query"],
      "Query": ["Language", "Schema"],
      "Save": ["Language", "Schema"],
      "Schema": ["Language"],
    ],
    "Modules/Actions": [
      "Action": ["Context", "Lifecycle", "Options", "Scheduling", "States", "Statistics"],
      "Connect": ["Action", "Context", "Dispatching", "Entities", "Events", "States"],
      "Context": ["Entities", "Statistics"],
      "Dispatching": ["Action", "Entities", "Events", "Options", "Scheduling"],
      "Entities": [],
      "Events": ["Action", "Scheduling", "States"],
      "Lifecycle": ["States", "Statistics"],
      "Merge": ["Context", "Entities"],
      "Options": [],
      "Scheduling": ["Options"],
      "States": [],
      "Statistics": [],
    ],
    "Modules/Core": [
      "Context": [
        "Coordinator", "Errors", "Model", "Objects", "Observation", "Query", "Reading", "Save", "Store", "Values",
      ],
      "Coordinator": ["Context", "Errors", "Model", "Objects", "Observation", "Reading", "Store", "Values"],
      "Errors": ["Objects", "Save"],
      "Model": ["Errors", "Objects", "Query", "Store", "Values"],
      "Objects": ["Context", "Coordinator", "Errors", "Model", "Query", "Reading", "Values"],
      "Observation": ["Context", "Coordinator", "Model", "Objects", "Save"],
      "Query": ["Errors", "Model", "Objects", "Values"],
      "Reading": ["Context", "Coordinator", "Errors", "Model", "Objects", "Observation", "Query", "Store", "Values"],
      "Save": ["Context", "Coordinator", "Errors", "Model", "Objects", "Observation", "Query", "Store", "Values"],
      "Store": ["Context", "Coordinator", "Errors", "Model", "Objects", "Query", "Values"],
      "Values": ["Errors", "Model", "Objects"],
    ],
    "Modules/HTTP": [
      "Body": ["Files"],
      "Caching": ["Client", "Messages"],
      "Client": ["Files", "Messages"],
      "Errors": [],
      "Files": [],
      "Messages": ["Body", "Errors"],
      "Paging": ["Client", "Errors", "Messages", "Redirects"],
      "Redirects": ["Client", "Errors", "Messages"],
      "Replay": ["Client", "Errors", "Files", "Messages"],
      "Retry": ["Client", "Errors", "Messages", "Timing"],
      "Timing": [],
      "Transfer": ["Body", "Client", "Errors", "Messages", "Redirects", "Timing"],
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
    "Modules/Mapping": [
      "Coding": ["Mappings"],
      "Errors": [],
      "Manager": ["Mappings", "Records", "Saving", "Sync", "Threads", "Transactions"],
      "Mappings": ["Coding", "Saving"],
      "Records": [],
      "Saving": ["Mappings", "Records", "Sync"],
      "Sync": ["Manager", "Records", "Saving", "Transactions"],
      "Threads": [],
      "Transactions": ["Mappings", "Records", "Saving", "Sync"],
    ],
    "Modules/Reconciliation": [
      ".": ["Tables"],
      "Tables": [],
    ],
    "Modules/Strategies": [
      "Container": ["Context", "Strategy"],
      "Context": [],
      "Strategy": ["Context"],
    ],
  ]

  /// Two folders that use each other, and why neither can do without the other.
  static let inherentPairs: [FolderPair: String] = [
    FolderPair("Modules/Core", "Context", "Objects"):
      "An object belongs to a context, and the context makes, keeps and changes objects.",
    FolderPair("Modules/Core", "Model", "Objects"):
      "An entity names the class of its objects, and an object has an entity.",
    FolderPair("Modules/IdentityMap", "Engine", "Model"):
      "A key path of a nested entity makes its accessor while the static types are known.",
    FolderPair("Modules/IdentityMap", "Observation", "Store"):
      "A store returns observers, and the public name of a subscription is nested in the store.",
  ]

  /// Folders that use each other although one of them should come first. This list may only shrink.
  static let undividedPairs: Set<FolderPair> = [
    FolderPair("Backends/SQL", "Language", "Query"),
    FolderPair("Modules/Core", "Context", "Coordinator"),
    FolderPair("Modules/Core", "Context", "Observation"),
    FolderPair("Modules/Core", "Context", "Reading"),
    FolderPair("Modules/Core", "Context", "Save"),
    FolderPair("Modules/Core", "Context", "Store"),
    FolderPair("Modules/Core", "Coordinator", "Objects"),
    FolderPair("Modules/Core", "Coordinator", "Observation"),
    FolderPair("Modules/Core", "Coordinator", "Reading"),
    FolderPair("Modules/Core", "Coordinator", "Store"),
    FolderPair("Modules/Core", "Errors", "Objects"),
    FolderPair("Modules/Core", "Errors", "Save"),
    FolderPair("Modules/Core", "Model", "Query"),
    FolderPair("Modules/Core", "Model", "Store"),
    FolderPair("Modules/Core", "Model", "Values"),
    FolderPair("Modules/Core", "Objects", "Query"),
    FolderPair("Modules/Core", "Objects", "Reading"),
    FolderPair("Modules/Core", "Objects", "Values"),
    FolderPair("Modules/Core", "Observation", "Save"),
    FolderPair("Modules/Mapping", "Coding", "Mappings"),
    FolderPair("Modules/Mapping", "Manager", "Sync"),
    FolderPair("Modules/Mapping", "Mappings", "Saving"),
    FolderPair("Modules/Mapping", "Saving", "Sync"),
    FolderPair("Modules/Mapping", "Sync", "Transactions"),
  ]
}
