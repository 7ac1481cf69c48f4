import CoherenceCore
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

@Suite("Texts of URLs from earlier releases")
struct StoredURLTests {
  private final class Link: ManagedObject {
    static let targetKey = AttributeKey<URL?>("target")

    var target: URL? {
      get { self[Self.targetKey] }
      set { self[Self.targetKey] = newValue }
    }
  }

  @Test(arguments: Backend.available)
  func `a text of a URL in another form is found after its record was written again`(backend: Backend) async throws {
    let model = try ManagedObjectModel {
      Entity("Link", class: Link.self) { Attribute("target", .url, optional: true) }
    }
    let directory = TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let container = GenericPersistentContainer<ContextStrategy.Mixed>(
      name: "Links", managedObjectModel: model, storeLocation: directory.url)
    let store = try container.attachPersistentStore(for: backend.newConfiguration())
    // A store does not check values, as the contexts of earlier releases did not.
    try store.insert("Link", ["target": .string("https://example.org/a b")])
    try store.insert("Link", ["target": .string("https://example.org/a%20c")])
    let target = try #require(URL(string: "https://example.org/a b"))
    let before = try await versions(of: target, in: container)
    try await container.performBackgroundTask { context in
      for link in try context.fetch(FetchRequest(Link.self)) {
        if let target = link.target { link.target = target }
      }
      try context.save()
    }
    let after = try await versions(of: target, in: container)
    #expect(before == [] && after == [2])
    let other = try #require(URL(string: "https://example.org/a%20c"))
    #expect(try await versions(of: other, in: container) == [1])
  }

  /// The versions of the records that a condition finds by a URL.
  private func versions(
    of target: URL, in container: GenericPersistentContainer<ContextStrategy.Mixed>
  ) async throws -> [Int64] {
    try await container.performBackgroundTask { context in
      let isTarget = FetchPredicate.comparison(.path(PropertyPath("target")), .equal, .value(target.attributeValue))
      return try context.fetch(FetchRequest(Link.self).filter(isTarget)).map(\.version)
    }
  }
}
