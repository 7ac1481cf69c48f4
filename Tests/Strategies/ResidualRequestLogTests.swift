import CoherenceCore
import Foundation
import Logging
import TestSupport
import Testing

/// The messages about requests that a store evaluates in part.
@Suite("Requests evaluated by the context") struct ResidualRequestLogTests {
  private static let model = Result { try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } } }

  @Test(arguments: Backend.available)
  func `the log says which part of a request the store leaves to the context, without values`(backend: Backend) throws {
    let (directory, log) = (TemporaryDirectory(), MessageLog())
    try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try Self.model.get(), logger: log.logger)
    let configuration = backend.configuration(named: "r" + UUID().uuidString.filter(\.isHexDigit))
    let store = try coordinator.addPersistentStore(
      configuration, at: backend == .sqlite ? directory.file("store.sqlite") : configuration.location)
    defer { try? coordinator.remove(store) }
    let context = ManagedObjectContext(coordinator: coordinator)
    func messages(of format: String) throws -> [String] {
      log.removeAll()
      var request = FetchRequest<ManagedObject>(entityName: "Thing")
      request.predicate = try FetchPredicate(format: format)
      _ = try context.performAndWait { try context.fetch(request) }
      return log.texts(.debug).filter { $0.hasPrefix("A store leaves a part of a request to the context") }
    }
    #expect(try messages(of: "name == 'secret'").isEmpty)
    let residual = try messages(of: "name MATCHES 'secret.*'")
    #expect(residual.count == (backend == .inMemory ? 0 : 1))
    #expect(residual.allSatisfy { $0.contains("Thing") && $0.contains("context") && !$0.contains("secret") })
  }
}
