import Coherence
import CoherenceMapping
import CoherenceModelMacros
import Testing

struct Fruit: CoreModel, Equatable {
  let uid: String
  var colour: String
}

@Entity final class FruitRecord: ManagedObject {
  @Attribute(.unique) var uid: String
  var colour: String
  var isUploaded = false
  var wasDeleted = false
  var isKnownToServer = false
}

extension FruitRecord: RecordFromModel, RecordToModel, SyncRecord {
  typealias ModelType = Fruit
  static var isKnownToServerKey: String? { "isKnownToServer" }

  func fromModel(_ model: Fruit) {
    uid = model.uid
    colour = model.colour
  }

  func toModel() -> Fruit { Fruit(uid: uid, colour: colour) }
}

/// The client of a server, which has its fruits in memory.
actor FruitServer {
  struct Unavailable: Error {}

  private var content: [String: Fruit] = [:]
  private var isAvailable = true

  func setAvailable(_ isAvailable: Bool) { self.isAvailable = isAvailable }

  func put(_ fruit: Fruit) throws {
    guard isAvailable else { throw Unavailable() }
    content[fruit.uid] = fruit
  }

  func remove(_ uid: String) throws {
    guard isAvailable else { throw Unavailable() }
    content[uid] = nil
  }

  func fruits() throws -> [Fruit] { content.values.sorted { $0.uid < $1.uid } }
}

/// Sends the edits and the deletions that the server does not have.
func upload(_ manager: PersistenceManager, to server: FruitServer) async throws {
  let worker = manager.workerContext
  let edits = try await worker.perform { context in
    try manager.fetchRecordsToUpdate(entity: FruitRecord.self, context: context).map {
      ($0.toModel(), $0.uploadReceipt)
    }
  }
  for (fruit, _) in edits { try await server.put(fruit) }
  try await manager.markRecordsAsUploaded(entity: FruitRecord.self, receipts: edits.map(\.1))

  let deletions = try await worker.perform { context in
    try manager.fetchRecordsToDelete(entity: FruitRecord.self, context: context).map { ($0.uid, $0.uploadReceipt) }
  }
  for (uid, _) in deletions { try await server.remove(uid) }
  try await manager.markRecordsAsUploaded(entity: FruitRecord.self, receipts: deletions.map(\.1))
  try await manager.purgeDeletedRecords(entity: FruitRecord.self)
}

/// Saves the fruits of the server.
struct FetchFruits: AsyncEntityAction {
  typealias ManagedObjectType = FruitRecord
  let manager: PersistenceManager
  let server: FruitServer

  func execute(context: ActionContext) async throws -> SaveResult {
    try await manager.save(
      entity: FruitRecord.self, models: try await server.fruits(), shouldOverwrite: true, from: .server())
  }
}

@Suite("The article about synchronised records")
struct SyncRecordGuideTests {
  private let plum = Fruit(uid: "plum", colour: "blue")
  private let pear = Fruit(uid: "pear", colour: "green")

  private func manager() async throws -> PersistenceManager {
    let manager = PersistenceManager(
      name: "Fruits", model: try ManagedObjectModel(FruitRecord.self),
      storeConfigurations: [StoreConfiguration(type: .inMemory)])
    try await manager.load()
    return manager
  }

  /// The number of edits and deletions that the server does not have.
  private func waiting(_ manager: PersistenceManager) async throws -> Int {
    try await manager.count(entity: FruitRecord.self, predicate: FetchPredicate(format: "isUploaded == NO"))
  }

  @Test func `an upload sends edits and deletions, and the next upload sends nothing`() async throws {
    let manager = try await manager()
    let server = FruitServer()
    try await manager.save(entity: FruitRecord.self, models: [plum, pear], shouldOverwrite: false, from: .here)
    try await upload(manager, to: server)
    #expect(try await server.fruits() == [pear, plum])
    #expect(try await waiting(manager) == 0)
    try await manager.markRecordsAsDeleted(entity: FruitRecord.self, uids: [pear.uid])
    #expect(try await manager.fetchModels(entity: FruitRecord.self) == [plum])
    try await upload(manager, to: server)
    #expect(try await server.fruits() == [plum])
    #expect(try await manager.count(entity: FruitRecord.self) == 1)
  }

  @Test func `an upload that fails leaves the edits, and the next upload sends them`() async throws {
    let manager = try await manager()
    let server = FruitServer()
    try await manager.save(entity: FruitRecord.self, models: [plum], shouldOverwrite: false, from: .here)
    await server.setAvailable(false)
    await #expect(throws: FruitServer.Unavailable.self) { try await upload(manager, to: server) }
    #expect(try await waiting(manager) == 1)
    await server.setAvailable(true)
    try await upload(manager, to: server)
    #expect(try await waiting(manager) == 0)
  }

  @Test func `the models of the server leave an edit that awaits its upload`() async throws {
    let manager = try await manager()
    let server = FruitServer()
    try await server.put(Fruit(uid: "plum", colour: "purple"))
    try await server.put(Fruit(uid: "fig", colour: "red"))
    try await manager.save(entity: FruitRecord.self, models: [plum], shouldOverwrite: false, from: .here)
    let saved = try await manager.save(
      entity: FruitRecord.self, models: try await server.fruits(), shouldOverwrite: true, from: .server())
    #expect(saved.inserted == 1)
    #expect(saved.skipped == 1)
    #expect(try await manager.fetchModel(entity: FruitRecord.self, uid: "plum") == plum)
    #expect(try await waiting(manager) == 1)
  }

  @Test func `a marked record that the server never had is deleted at once`() async throws {
    let manager = try await manager()
    try await manager.save(entity: FruitRecord.self, models: [plum, pear], shouldOverwrite: false, from: .here)
    try await manager.markRecordsAsDeleted(entity: FruitRecord.self, uids: [pear.uid])
    #expect(try await manager.count(entity: FruitRecord.self) == 1)
    let server = FruitServer()
    try await upload(manager, to: server)
    #expect(try await server.fruits() == [plum])
  }

  @Test func `a delete by uid reaches no server`() async throws {
    let manager = try await manager()
    let server = FruitServer()
    try await manager.save(entity: FruitRecord.self, models: [plum], shouldOverwrite: false, from: .here)
    try await upload(manager, to: server)
    try await manager.delete(entity: FruitRecord.self, uids: ["plum"])
    try await upload(manager, to: server)
    #expect(try await server.fruits() == [plum])
  }

  @Test func `an action saves the models of the server by a manager`() async throws {
    let inMemory = [StoreConfiguration(type: .inMemory)]
    let server = FruitServer()
    try await server.put(plum)
    let connect = GenericConnect<ContextStrategy.Mixed>(
      name: "Fruits", managedObjectModel: try ManagedObjectModel(FruitRecord.self))
    let manager = PersistenceManager(container: connect, storeConfigurations: inMemory)
    try await manager.load()
    try await connect.start()
    let saved = try await connect.execute(FetchFruits(manager: manager, server: server)).value
    #expect(saved.inserted == 1)
    #expect(try await waiting(manager) == 0)
    try await connect.stop()
  }
}
