import Coherence
import CoherenceModelMacros

@Entity final class Artist: ManagedObject {
  var name: String
}

@main struct Example {
  static func main() async throws {
    let container = GenericPersistentContainer<ContextStrategy.Mixed>(
      name: "Music", managedObjectModel: try ManagedObjectModel(Artist.self))
    try container.attachPersistentStore(for: StoreConfiguration(type: .sqlite))

    try await container.performBackgroundTask { context in
      try Artist(context: context).name = "Nina Simone"
      try context.save()  // on disk when this returns
    }
    let names = try await container.viewContext.perform { view in
      try view.fetch(FetchRequest(Artist.self).sort(\.name)).map(\.name)
    }
    print(names)
  }
}
