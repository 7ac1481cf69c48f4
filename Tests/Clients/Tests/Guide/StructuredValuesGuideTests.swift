import Coherence
import CoherenceModelMacros
import Foundation
import Testing

@Suite("The article about structured and derived values")
struct StructuredValuesGuideTests {
  @Composite struct Size: Sendable, Equatable {
    var width: Double
    var height: Double
  }

  @Entity final class Poster: ManagedObject {
    var title: String
    @Attribute(.derived(.canonical("title")), .indexed) var titleFold: String?
    @Attribute(.derived(.now)) var savedAt: Date?
    @Attribute(.composite) var size: Size?
    @Attribute(.codable) var tags: [String] = []
  }

  struct Color: Equatable {
    var red: UInt8
    var green: UInt8
    var blue: UInt8
  }

  struct ColorError: Error {}

  struct ColorTransformer: AttributeTransformer {
    func data(from color: Color) -> Data { Data([color.red, color.green, color.blue]) }
    func value(from data: Data) throws -> Color {
      let bytes = Array(data)
      guard bytes.count == 3 else { throw ColorError() }
      return Color(red: bytes[0], green: bytes[1], blue: bytes[2])
    }
  }

  @Entity final class Label: ManagedObject {
    @Attribute(.transformable("color")) var colorData: Data?

    private static let colorKey = TransformableKey<Color>("colorData")
    var color: Color? {
      get { self[Self.colorKey] }
      set { self[Self.colorKey] = newValue }
    }
  }

  @Test func `a registered transformer gives an accessor its values`() async throws {
    AttributeTransformers.register(ColorTransformer(), named: "color")
    let container = GenericPersistentContainer<ContextStrategy.Mixed>(
      name: "Labels", managedObjectModel: try ManagedObjectModel(Label.self))
    try container.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try await container.performBackgroundTask { context in
      let label = try Label(context: context)
      label.color = Color(red: 1, green: 2, blue: 3)
      try context.save()
      context.refreshAll()
      #expect(label.color == Color(red: 1, green: 2, blue: 3))
      #expect(label.colorData == Data([1, 2, 3]))
    }
  }

  @Entity final class Collection: ManagedObject {
    var title: String
    @Relationship(inverse: \Item.collection) var items: ToMany<Item>
    @Relationship(inverse: \Owner.collections) var owner: Owner?
    @Attribute(.derived(.count("items")), .indexed) var itemCount: Int?
    @Attribute(.derived(.sum("items.weight"))) var weight: Double?
    @Attribute(.derived(.path("owner.name"))) var ownerName: String?
  }

  @Entity final class Item: ManagedObject {
    var weight = 0.0
    @Relationship var collection: Collection?
  }

  @Entity final class Owner: ManagedObject {
    var name: String
    @Relationship var collections: ToMany<Collection>
  }

  @Test func `a collection has the number and the weight of its items, and the name of its owner`() async throws {
    let container = GenericPersistentContainer<ContextStrategy.Mixed>(
      name: "Collections", managedObjectModel: try ManagedObjectModel(Collection.self, Item.self, Owner.self))
    try container.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try await container.performBackgroundTask { context in
      let collection = try Collection(context: context)
      collection.title = "Stones"
      collection.owner = try Owner(context: context)
      collection.owner?.name = "Ann"
      for weight in [1.5, 2] {
        let item = try Item(context: context)
        item.weight = weight
        item.collection = collection
      }
      #expect(collection.itemCount == nil)
      try context.save()
      #expect(collection.itemCount == 2)
      #expect(collection.weight == 3.5)
      #expect(collection.ownerName == "Ann")
      let large = FetchRequest(Collection.self).filter { $0.itemCount > 1 }.sort(\.ownerName)
      #expect(try context.fetch(large).count == 1)
    }
  }

  @Test func `a poster has a size, tags and a derived title`() async throws {
    let container = GenericPersistentContainer<ContextStrategy.Mixed>(
      name: "Posters", managedObjectModel: try ManagedObjectModel(Poster.self))
    try container.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try await container.performBackgroundTask { context in
      let poster = try Poster(context: context)
      poster.title = "Él Niño"
      poster.size = Size(width: 0.5, height: 0.7)
      poster.tags.append("film")
      try context.save()
      print(poster.titleFold ?? "none")  // el nino
      #expect(poster.titleFold == "el nino")
      #expect(poster.size == Size(width: 0.5, height: 0.7))
      #expect(poster.tags == ["film"])
      let wide = FetchRequest(Poster.self).filter { $0.size.width > 0.4 }.sort(\.size.height)
      #expect(try context.fetch(wide).map(\.title) == ["Él Niño"])
    }
  }
}
