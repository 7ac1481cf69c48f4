import Testing

@testable import CoherenceCore

/// Rows of another entity than the requested one, from a faulty store.
@Suite struct StrayRowTests {
  /// A store that returns a row of one entity for every read.
  private final class StrayStore: PersistentStore {
    let environment: StoreEnvironment
    let spaces: IDSpaces
    let capabilities: StoreCapabilities = .concurrentReads
    private let entity: EntityDescription

    init(_ environment: StoreEnvironment, returning entity: String) throws {
      self.environment = environment
      spaces = IDSpaces(store: StoreIdentifier("stray"), model: environment.model)
      self.entity = try environment.model.entity(named: entity)
    }

    static var unused: CoherenceError { CoherenceError(.unsupported, "The tests do not use this.") }

    func metadata() throws -> StoreMetadata { environment.freshMetadata(identifier: identifier) }
    func setUserInfo(_ userInfo: [String: String]) throws { throw Self.unused }
    func makeReader() throws -> any StoreReader { StrayReader(spaces, entity) }
    func allocateKeys(_ count: Int, for root: EntityDescription) throws -> Range<Int64> { throw Self.unused }
    func save(_ request: StoreSaveRequest) throws { throw Self.unused }
    func close() {}
  }

  private final class StrayReader: StoreReader {
    private let spaces: IDSpaces
    private let entity: EntityDescription

    init(_ spaces: IDSpaces, _ entity: EntityDescription) {
      self.spaces = spaces
      self.entity = entity
    }

    private func row(at key: Int64, in root: EntityDescription) -> Row {
      let values = [AttributeValue](repeating: .null, count: entity.slotCount)
      return Row.make(id: ManagedObjectID(space: spaces[root], key: key), entity: entity, version: 1, values: values)
    }

    func fetch(_ query: StoreQuery) throws -> StoreFetch {
      StoreFetch(
        isPredicateExact: query.predicate == nil, isOrderExact: query.sortKeys.isEmpty, isRangeExact: false,
        cursor: StrayCursor(row(at: 1, in: query.entity.root)))
    }
    func row(_ key: Int64, of root: EntityDescription) throws -> Row? { row(at: key, in: root) }
    func rows(_ keys: [Int64], of root: EntityDescription) throws -> [Row] { keys.map { row(at: $0, in: root) } }
    func links(_ table: LinkTable, of keys: [Int64], fromSource: Bool) throws -> [Link] { [] }
    func count(_ query: StoreQuery) throws -> Int? { nil }
    func finish() {}
  }

  private final class StrayCursor: RowCursor {
    private var row: Row?

    init(_ row: Row) { self.row = row }

    func next(into rows: inout [Row]) throws -> Bool {
      guard let row else { return false }
      rows.append(row)
      self.row = nil
      return true
    }
    func close() {}
  }

  private struct Factory: StoreFactory {
    var usesFiles: Bool { false }
    func open(_ environment: StoreEnvironment) throws -> any PersistentStore {
      try StrayStore(environment, returning: "Empty")
    }
    func metadata(_ environment: StoreEnvironment) throws -> StoreMetadata? { nil }
    func setAside(_ environment: StoreEnvironment) throws -> String { throw StrayStore.unused }
  }

  private static func makeModel() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Thing") {
        Attribute("name", .string, optional: true)
        Attribute("number", .int64, optional: true)
      }
      Entity("Part", parent: "Thing")
      Entity("Empty") { Attribute("other", .string, optional: true) }
    }
  }

  private let store: any PersistentStore
  private let context: ManagedObjectContext

  init() throws {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try Self.makeModel())
    store = try coordinator.addPersistentStore(type: StoreType("Stray", factory: Factory()))
    context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  @Test func `a fetch from a store that returns a row of another entity throws`() throws {
    context.performAndWait {
      let request = FetchRequest<ManagedObject>(entityName: "Thing")
      let error = #expect(throws: CoherenceError.self) { try context.fetch(request) }
      #expect(error?.code == .storeCorrupt)
      #expect(error?.message.contains("'Empty'") == true)
      #expect(error?.message.contains("'Thing'") == true)
    }
  }

  @Test func `the load of a record for which the store returns a row of another entity throws`() throws {
    let thing = try store.environment.model.entity(named: "Thing")
    let ids = ([1, 2] as [Int64]).map { ManagedObjectID(space: store.spaces[thing], key: $0) }
    context.performAndWait {
      let single = #expect(throws: CoherenceError.self) { try context.committedRow(ids[0]) }
      #expect(single?.code == .storeCorrupt)
      let several = #expect(throws: CoherenceError.self) { try context.committedRows(ids) }
      #expect(several?.code == .storeCorrupt)
    }
  }

  @Test func `rows of subentities and of an equal model's entities are right`() throws {
    let thing = try Self.makeModel().entity(named: "Thing")
    let equalModel = try Self.makeModel()
    let rows = try ["Thing", "Part"].map { name in
      let entity = try equalModel.entity(named: name)
      return Row.make(id: .temporary(for: entity), entity: entity, version: 1, values: [.null, .null])
    }
    try thing.check(rows)
    for row in rows { try thing.check(row) }
    let part = try equalModel.entity(named: "Part")
    #expect(throws: CoherenceError.self) { try part.check(rows) }
  }
}
