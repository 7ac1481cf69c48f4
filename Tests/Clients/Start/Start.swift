import Coherence
import Foundation

/// Starts a Connect in every possible way, and prints its stores after each start.
///
/// The scenarios read the model file `MyModelName.xcdatamodeld` from the resources of the program, because it links
/// CoherenceModelFiles. The program registers the model of the delegate itself.
@main struct Start {
  static func main() throws {
    try registerModel(named: "ModelName")
    for (title, start) in [
      ("without configuration", startWithoutConfiguration), ("with configurations", startWithConfigurations),
      ("for a user", startForUser), ("for a user beside a global store", startForUserBesideGlobalStore),
    ] {
      let connect = try start()
      print("\(title): \(stores(of: connect))")
      try connect.stop()
    }
    let delegate = try AppDelegate()
    print("by a delegate: \(delegate.applicationDidFinishLaunching()) \(stores(of: delegate.connect))")
  }

  /// Registers a model equal to the one of the file. Its three configurations can also be in one store.
  private static func registerModel(named name: String) throws {
    let entities = ["Global", "Transient", "Persistent"]
    let model = try ManagedObjectModel(
      name: name,
      entities: entities.map { entity in
        Entity(entity, userInfo: ["uniquenessAttributes": "id"]) { Attribute("id", .int64) }
      },
      configurations: Dictionary(uniqueKeysWithValues: entities.map { ("\($0)Data", [$0]) }))
    try model.register()
  }

  /// The stores' files, below the default location, and the managed entities.
  private static func stores(of connect: any Connect) -> String {
    let root = GenericConnect<ContextStrategy.Mixed>.defaultStoreLocation().path
    let places = connect.persistentStoreCoordinator.persistentStores.map { store in
      store.url.map { String($0.path.dropFirst(root.count + 1)) } ?? "memory"
    }
    let managed = connect.managedObjectModel.entities.filter(connect.isManaged).map(\.name).sorted()
    return "\(places.joined(separator: ", ")) with \(managed.joined(separator: ", "))"
  }
}
