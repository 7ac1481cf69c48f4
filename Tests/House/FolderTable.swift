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
      "Action": ["Connect", "Execution", "Merge", "Options", "Statistics"],
      "Connect": ["Action", "Execution", "Merge", "Options"],
      "Execution": ["Action", "Connect", "Options", "Statistics"],
      "Merge": ["Action", "Connect", "Statistics"],
      "Options": ["Action"],
      "Statistics": [],
    ],
    "Modules/Core": [
      "Context": ["Coordinator", "Errors", "Model", "Objects", "Observation", "Query", "Save", "Store", "Values"],
      "Coordinator": ["Context", "Errors", "Model", "Objects", "Observation", "Store", "Values"],
      "Errors": ["Objects", "Save"],
      "Model": ["Errors", "Objects", "Query", "Store", "Values"],
      "Objects": ["Context", "Coordinator", "Errors", "Model", "Query", "Values"],
      "Observation": ["Context", "Coordinator", "Model", "Objects", "Save"],
      "Query": ["Errors", "Model", "Objects", "Values"],
      "Save": ["Context", "Coordinator", "Errors", "Model", "Objects", "Query", "Store", "Values"],
      "Store": ["Context", "Coordinator", "Errors", "Model", "Objects", "Query", "Values"],
      "Values": ["Errors", "Model", "Objects"],
    ],
    "Modules/HTTP": [
      "Caching": ["Client"],
      "Client": ["Redirects", "Retry", "Streaming"],
      "Paging": ["Client", "Redirects"],
      "Redirects": ["Client", "Streaming"],
      "Replay": ["Client"],
      "Retry": ["Client", "Streaming"],
      "Streaming": ["Client", "Replay"],
    ],
    "Modules/IdentityMap": [
      "Archive": ["Model", "Nesting", "Observation", "Store", "Tables"],
      "Diagnostics": ["Graph", "Model", "Store"],
      "Graph": ["Diagnostics", "Lifetimes", "Model", "Nesting", "Observation", "Optimistic", "Store", "Tables"],
      "Lifetimes": ["Graph", "Model", "Store", "Tables"],
      "Model": ["Nesting"],
      "Nesting": ["Graph", "Model", "Optimistic", "Tables"],
      "Observation": ["Graph", "Model", "Queries", "Store", "Tables"],
      "Optimistic": ["Graph", "Model", "Nesting", "Observation", "Store", "Tables"],
      "Queries": ["Graph", "Observation", "Store", "Tables"],
      "Store": ["Graph", "Model", "Nesting", "Observation", "Tables"],
      "Tables": ["Graph", "Lifetimes", "Model", "Nesting", "Observation", "Optimistic", "Queries"],
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
    FolderPair("Modules/HTTP", "Client", "Redirects"):
      "The client of the system follows redirects by the policy; the redirecting client wraps a client.",
    FolderPair("Modules/HTTP", "Client", "Streaming"):
      "The protocol of clients has streams, and a stream has the failures and replies of clients.",
  ]

  /// Folders that use each other although one of them should come first. This list may only shrink.
  static let undividedPairs: Set<FolderPair> = [
    FolderPair("Backends/SQL", "Language", "Query"),
    FolderPair("Modules/Actions", "Action", "Connect"),
    FolderPair("Modules/Actions", "Action", "Execution"),
    FolderPair("Modules/Actions", "Action", "Merge"),
    FolderPair("Modules/Actions", "Action", "Options"),
    FolderPair("Modules/Actions", "Connect", "Execution"),
    FolderPair("Modules/Actions", "Connect", "Merge"),
    FolderPair("Modules/Core", "Context", "Coordinator"),
    FolderPair("Modules/Core", "Context", "Observation"),
    FolderPair("Modules/Core", "Context", "Save"),
    FolderPair("Modules/Core", "Context", "Store"),
    FolderPair("Modules/Core", "Coordinator", "Objects"),
    FolderPair("Modules/Core", "Coordinator", "Observation"),
    FolderPair("Modules/Core", "Coordinator", "Store"),
    FolderPair("Modules/Core", "Errors", "Objects"),
    FolderPair("Modules/Core", "Errors", "Save"),
    FolderPair("Modules/Core", "Model", "Query"),
    FolderPair("Modules/Core", "Model", "Store"),
    FolderPair("Modules/Core", "Model", "Values"),
    FolderPair("Modules/Core", "Objects", "Query"),
    FolderPair("Modules/Core", "Objects", "Values"),
    FolderPair("Modules/HTTP", "Client", "Retry"),
    FolderPair("Modules/IdentityMap", "Diagnostics", "Graph"),
    FolderPair("Modules/IdentityMap", "Graph", "Lifetimes"),
    FolderPair("Modules/IdentityMap", "Graph", "Nesting"),
    FolderPair("Modules/IdentityMap", "Graph", "Observation"),
    FolderPair("Modules/IdentityMap", "Graph", "Optimistic"),
    FolderPair("Modules/IdentityMap", "Graph", "Store"),
    FolderPair("Modules/IdentityMap", "Graph", "Tables"),
    FolderPair("Modules/IdentityMap", "Lifetimes", "Tables"),
    FolderPair("Modules/IdentityMap", "Model", "Nesting"),
    FolderPair("Modules/IdentityMap", "Nesting", "Optimistic"),
    FolderPair("Modules/IdentityMap", "Nesting", "Tables"),
    FolderPair("Modules/IdentityMap", "Observation", "Queries"),
    FolderPair("Modules/IdentityMap", "Observation", "Store"),
    FolderPair("Modules/IdentityMap", "Observation", "Tables"),
    FolderPair("Modules/IdentityMap", "Optimistic", "Tables"),
    FolderPair("Modules/IdentityMap", "Queries", "Tables"),
    FolderPair("Modules/Mapping", "Coding", "Mappings"),
    FolderPair("Modules/Mapping", "Manager", "Sync"),
    FolderPair("Modules/Mapping", "Mappings", "Saving"),
    FolderPair("Modules/Mapping", "Saving", "Sync"),
    FolderPair("Modules/Mapping", "Sync", "Transactions"),
  ]
}
