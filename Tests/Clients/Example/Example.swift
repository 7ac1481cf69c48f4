import Coherence

final class Artist: ManagedObject {
  static let nameKey = AttributeKey<String>("name")
  var name: String {
    get { self[Self.nameKey] }
    set { self[Self.nameKey] = newValue }
  }
}

@main struct Example {
  static func main() async throws {
    let model = try ManagedObjectModel {
      Entity("Artist", class: Artist.self) { Attribute("name", .string) }
    }
    let container = GenericPersistentContainer<ContextStrategy.Mixed>(name: "Music", managedObjectModel: model)
    try container.attachPersistentStores(for: [StoreConfiguration(type: .sqlite)])

    try await container.performBackgroundTask { context in
      try Artist(context: context).name = "Nina Simone"
      try context.save()  // on disk when this returns
    }
    let view = container.viewContext
    let names = try await view.perform { try view.fetch(FetchRequest(Artist.self).sort("name")).map(\.name) }
    print(names)
  }
}
