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
    }
  }
}
