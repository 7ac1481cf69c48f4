import Coherence

@main struct ShelfTool {
  static func main() async throws {
    let model = try ManagedObjectModel(Album.self, name: "Shelf")
    let container = GenericPersistentContainer<ContextStrategy.Mixed>(name: "Shelf", managedObjectModel: model)
    try container.attachPersistentStore(for: StoreConfiguration(type: .sqlite))

    try await container.performBackgroundTask { context in
      let pastel = FetchRequest(Album.self).filter { $0.code == "PHM 600-187" }
      guard try context.count(for: pastel) == 0 else { return }
      let album = try Album(context: context)
      album.code = "PHM 600-187"
      album.title = "Pastel Blues"
      album.year = 1965
      try context.save()
    }

    let titles = try await container.viewContext.perform { view in
      try view.fetch(FetchRequest(Album.self).sort(\.title)).map(\.title)
    }
    print(titles)
  }
}
