import Coherence
import CoherenceOutbox
import Dispatch
import Foundation
import Synchronization

/// A store of people with a key, under a started Connect.
final class MergeStore {
  private let connect: GenericConnect<ContextStrategy.DirectIndependent>

  convenience init(file: URL) throws {
    try self.init(.sqlite(at: file))
  }

  convenience init(url: String, schema: String) throws {
    try self.init(.postgreSQL(at: url, schema: schema))
  }

  init(_ configuration: StoreConfiguration) throws {
    connect = GenericConnect(name: "Bench", managedObjectModel: try Self.model.get())
    try connect.attachPersistentStore(for: configuration)
    try connect.start()
  }

  /// Attaches an outbox, and changes the notes of some people. Each change is a pending edit.
  func addPendingEdits(to numbers: some Sequence<Int64>) throws {
    let outbox = try Outbox(connect, entities: ["Person"])
    let wanted = Set(numbers)
    let context = connect.newBackgroundContext()
    try context.performAndWait {
      for person in try context.fetch(FetchRequest(PersonObject.self)) {
        if wanted.contains(try person.value(for: "number")) { try person.setValue("A pending note", for: "notes") }
      }
      try context.save()
    }
    outbox.close()
  }

  private static let model = Result {
    try ManagedObjectModel {
      Entity("Person", class: PersonObject.self, uniqueness: [["number"]]) {
        Attribute("number", .int64)
        for attribute in PersonObject.attributes { attribute }
      }
    }.addingOutbox()
  }

  /// Merges records in an action. Only the merge itself is timed.
  func merge(_ records: [MergeRecord]) throws -> (seconds: Double, result: MergeResult) {
    let receipt = MergeReceipt()
    let done = DispatchSemaphore(value: 0)
    let proxy = try connect.execute(MergePeople(records: records, receipt: receipt)) { _ in done.signal() }
    done.wait()
    if let error = proxy.error { throw error }
    return receipt.value.withLock { $0 }
  }

  /// Reads all rows in a new context, and returns their checksum.
  func readBack() throws -> UInt64 {
    let context = connect.newBackgroundContext()
    return try context.performAndWait { try context.fetchPeople().checksum }
  }

  func close() throws { try connect.stop() }
}

private final class MergeReceipt: Sendable {
  let value = Mutex<(seconds: Double, result: MergeResult)>((0, MergeResult()))
}

private struct MergePeople: EntityAction {
  typealias ManagedObjectType = PersonObject
  let records: [MergeRecord]
  let receipt: MergeReceipt

  func execute(context: ActionContext) throws {
    guard let entity = context.persistentStoreCoordinator?.managedObjectModel.entitiesByName["Person"] else {
      throw BenchError("The model of the merge has no people.")
    }
    let start = ContinuousClock.now
    let result = try context.merge(records: records, for: entity, options: .replaceAll)
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    receipt.value.withLock { $0 = (seconds, result) }
  }
}

extension MergeRecord {
  init(_ person: Person) {
    self.init([
      "number": person.id, "uuid": person.uuid, "firstName": person.firstName, "middleName": person.middleName,
      "lastName": person.lastName, "email": person.email, "age": person.age, "score": person.score,
      "created": person.created, "isActive": person.isActive, "notes": person.notes,
    ])
  }
}
