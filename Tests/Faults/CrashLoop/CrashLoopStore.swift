import CoherenceCore
import CoherencePostgreSQL
import Foundation

/// A store of a crash loop. Its own coordinator simulates another process.
final class CrashLoopStore: Sendable {
  let coordinator: PersistentStoreCoordinator

  static let model: ManagedObjectModel = {
    do {
      return try ManagedObjectModel {
        Entity("Entry", uniqueness: [["name"]]) {
          Attribute("name", .string)
          Attribute("number", .int64)
        }
      }
    } catch {
      fatalError("\(error)")
    }
  }()

  init(at url: URL, options: [String: OptionValue] = [:]) throws {
    coordinator = PersistentStoreCoordinator(managedObjectModel: Self.model)
    let configuration = StoreConfiguration(type: .postgreSQL, options: options, location: url)
    while true {
      do {
        try coordinator.addPersistentStore(configuration, at: url)
        return
      } catch ErrorCode.storeBusy {
        // A statement exceeded the writers' time limit. No fault has been injected yet.
      }
    }
  }

  func makeContext() -> ManagedObjectContext {
    ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  /// The numbers of all records, by their names.
  func numbers() throws -> [String: Int64] {
    let context = makeContext()
    return try context.performAndWait {
      var numbers: [String: Int64] = [:]
      for entry in try context.fetch(FetchRequest<ManagedObject>(entityName: "Entry")) {
        let name = try entry.value(for: "name", as: String.self)
        numbers[name] = try entry.value(for: "number", as: Int64.self)
      }
      return numbers
    }
  }
}
