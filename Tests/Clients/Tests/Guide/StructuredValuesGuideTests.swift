import Coherence
import Testing

@Suite("The article about structured and derived values")
struct StructuredValuesGuideTests {
  struct Size: CompositeValue, Equatable {
    var width: Double
    var height: Double

    init(width: Double, height: Double) {
      self.width = width
      self.height = height
    }

    static var compositeParts: [Attribute] {
      Attribute.parts("width", Double.self) + Attribute.parts("height", Double.self)
    }
    init(reading parts: inout CompositeReader) {
      width = parts.read()
      height = parts.read()
    }
    func write(to parts: inout CompositeWriter) {
      parts.write(width)
      parts.write(height)
    }
  }

  final class Poster: ManagedObject {
    static let titleKey = AttributeKey<String>("title")
    static let foldKey = AttributeKey<String?>("titleFold")
    static let sizeKey = CompositeKey<Size?>("size")
    static let tagsKey = CodableKey<[String]>("tags")

    var title: String {
      get { self[Self.titleKey] }
      set { self[Self.titleKey] = newValue }
    }
    var titleFold: String? { self[Self.foldKey] }
    var size: Size? {
      get { self[Self.sizeKey] }
      set { self[Self.sizeKey] = newValue }
    }
    var tags: [String] {
      get { self[Self.tagsKey] }
      set { self[Self.tagsKey] = newValue }
    }
  }

  static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(name: "Posters") {
      Entity("Poster", class: Poster.self, indexes: [["titleFold"]]) {
        Attribute("title", .string)
        Attribute("titleFold", .string, derived: .canonical("title"))
        Attribute("savedAt", .date, derived: .now)
        CompositeAttribute("size", of: Size?.self)
        Attribute("tags", codable: [String].self, default: [])
      }
    }
  }

  @Test func `a poster has a size, tags and a derived title`() async throws {
    let container = GenericPersistentContainer<ContextStrategy.Mixed>(
      name: "Posters", managedObjectModel: try Self.model())
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
    }
  }
}
