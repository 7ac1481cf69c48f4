import Synchronization
import Testing

@testable import CoherenceCore

/// The rows that a coordinator caches: their states, their numbers and their expiry. The tests of the SQLite store have
/// the reads that the cache saves.
@Suite struct CachedRowsTests {
  /// A store without reads: the tests give the cache its rows and marks.
  private final class MarkedStore: StateMarking {
    let environment: StoreEnvironment
    let spaces: IDSpaces
    let capabilities: StoreCapabilities = []

    init(_ spaces: IDSpaces, _ model: ManagedObjectModel) {
      self.spaces = spaces
      environment = StoreEnvironment(type: StoreType("Marked"), url: nil, model: model)
    }

    private static var unused: CoherenceError { CoherenceError(.unsupported, "The tests do not use the store.") }

    func metadata() throws -> StoreMetadata { throw Self.unused }
    func setUserInfo(_ userInfo: [String: String]) throws { throw Self.unused }
    func makeReader() throws -> any StoreReader { throw Self.unused }
    func allocateKeys(_ count: Int, for root: EntityDescription) throws -> Range<Int64> { throw Self.unused }
    func save(_ request: StoreSaveRequest) throws { throw Self.unused }
    func close() {}
    func stateMark(of reader: any StoreReader) throws -> StateMark? { throw Self.unused }
    func save(_ request: StoreSaveRequest, committed: (StateChange) -> Void) throws { throw Self.unused }
  }

  private let cache = RowCache()
  private let store: MarkedStore
  private let cached: CachedStore
  private let entity: EntityDescription

  init() throws {
    let model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string, optional: true) } }
    entity = try model.entity(named: "Thing")
    store = MarkedStore(IDSpaces(store: StoreIdentifier("cached"), model: model), model)
    cache.policy = RowCachePolicy(limit: 4, expiry: 60)
    cache.add(store)
    guard let cached = cache.cachedStore(for: store) else {
      throw CoherenceError(.illegalState, "The cache must take the store.")
    }
    self.cached = cached
  }

  private func id(_ key: Int64) -> ManagedObjectID { ManagedObjectID(space: store.spaces[entity], key: key) }

  private func row(_ key: Int64, version: Int64 = 1) -> Row {
    Row.make(id: id(key), entity: entity, version: version, values: [.string("\(key)")])
  }

  /// Caches a row that a reader has read, which was made after all steps of the cache unless another step is given.
  private func enter(_ key: Int64, at mark: UInt64 = 1, readerStep: Int = .max) {
    cache.enter(row(key), in: cached, at: StateMark(mark), readerStep: readerStep)
  }

  private func enter(_ keys: ClosedRange<Int64>) {
    cache.enter(keys.map { row($0) }, in: cached, at: StateMark(1), readerStep: .max)
  }

  private func enterEach(_ keys: ClosedRange<Int64>) { for key in keys { enter(key) } }

  /// The version of a cached row; `nil` for none.
  private func version(_ key: Int64) -> Int64? { cache.candidate(id(key), in: cached)?.row.version }

  /// The keys of the cached rows among the first ten.
  private var keys: [Int64] { (1...10).filter { version($0) != nil } }

  // MARK: States

  @Test func `a look-up counts as a hit or as a miss, and returns the mark of the row's state`() throws {
    #expect(version(1) == nil)
    enter(1)
    let found = try #require(cache.candidate(id(1), in: cached))
    #expect(found.mark == StateMark(1))
    #expect(found.row.key == 1)
    #expect(version(2) == nil)
    #expect(cache.statistics.hits == 1)
    #expect(cache.statistics.misses == 2)
    cache.countMisses(1)
    #expect(cache.statistics.hits == 0)
    #expect(cache.statistics.misses == 3)
    #expect(cache.statistics.rows == 1)
  }

  @Test func `a reader from before the step to the cached state adds no row, and a later reader drops the rows`() {
    enter(1)
    enter(2, at: 2, readerStep: cached.step - 1)
    #expect(keys == [1])
    enter(2, at: 2, readerStep: cached.step)
    #expect(keys == [2])
    #expect(cache.statistics.invalidations == 1)
    #expect(cache.statistics.rows == 1)
  }

  @Test func `a fetch of a later state drops the rows, and a fetch without cached rows makes no state known`() {
    cache.renew(cached, to: StateMark(1), readerStep: .max)
    #expect(cached.mark == nil)
    enter(1)
    cache.renew(cached, to: StateMark(1), readerStep: .max)
    #expect(keys == [1])
    cache.renew(cached, to: StateMark(2), readerStep: cached.step - 1)
    #expect(keys == [1])
    cache.renew(cached, to: StateMark(2), readerStep: cached.step)
    #expect(keys == [])
    #expect(cached.mark == StateMark(2))
  }

  @Test func `no reader moves the cache to another state while a save runs`() throws {
    #expect(cache.beginSave(in: store) == nil)
    enter(1)
    let saving = try #require(cache.beginSave(in: store))
    #expect(saving === cached)
    enter(2, at: 2)
    #expect(keys == [1])
    cache.endSave(in: saving)
    enter(2, at: 2)
    #expect(keys == [2])
    #expect(cache.beginSave(in: MarkedStore(store.spaces, store.environment.model)) == nil)
  }

  // MARK: Saves

  @Test
  func `a save moves the cached rows to its state, with the rows that it writes and without those that it deletes`() {
    cache.policy.limit = 10
    enterEach(1...4)
    let slots = SlotSet([0])
    let request = StoreSaveRequest(steps: [
      .update(entity, slots: slots, [1, 9].map { RowUpdate(row: row($0, version: 2), baseVersion: 1) }),
      .fix(entity, slots: slots, [row(2)]), .delete(entity, [RowDelete(id: id(3), baseVersion: 1)]),
      .insert(entity, [row(8)]),
    ])
    let step = cached.step
    cache.follow(StateChange(from: StateMark(1), to: StateMark(2)), request, deriving: [row(4, version: 7)], in: cached)
    #expect(keys == [1, 4])
    #expect(version(1) == 2)
    #expect(version(4) == 7)
    #expect(cached.mark == StateMark(2))
    #expect(cached.step > step)
    #expect(cache.statistics.invalidations == 2)
    #expect(cache.statistics.rows == 2)
  }

  @Test func `rows of both generations follow a save`() {
    enterEach(1...3)
    let request = StoreSaveRequest(steps: [
      .update(entity, slots: SlotSet([0]), [RowUpdate(row: row(1, version: 2), baseVersion: 1)]),
      .delete(entity, [RowDelete(id: id(2), baseVersion: 1), RowDelete(id: id(3), baseVersion: 1)]),
    ])
    cache.follow(StateChange(from: StateMark(1), to: StateMark(2)), request, in: cached)
    #expect(keys == [1])
    #expect(version(1) == 2)
    #expect(cache.statistics.rows == 1)
  }

  @Test func `a save on another state drops the rows, and a save to the cached state changes none`() {
    enter(1)
    let request = StoreSaveRequest(steps: [.delete(entity, [RowDelete(id: id(1), baseVersion: 1)])])
    cache.follow(StateChange(from: StateMark(7), to: StateMark(1)), request, in: cached)
    #expect(keys == [1])
    cache.follow(StateChange(from: StateMark(7), to: StateMark(8)), StoreSaveRequest(steps: []), in: cached)
    #expect(keys == [])
    #expect(cached.mark == StateMark(8))
    #expect(cache.statistics.invalidations == 1)
  }

  @Test func `a detached store has no cached rows, and gets none from a reader or a save that ends later`() {
    enter(1)
    cache.remove(store)
    #expect(cache.cachedStore(for: store) == nil)
    #expect(cache.statistics.rows == 0)
    #expect(cache.statistics.invalidations == 1)
    enter(1)
    enter(1...2)
    cache.follow(StateChange(from: StateMark(1), to: StateMark(2)), StoreSaveRequest(steps: []), in: cached)
    #expect(keys == [])
    #expect(cached.mark == nil)
  }

  // MARK: Numbers of rows

  @Test func `the rows read first are evicted by halves of the limit`() {
    enterEach(1...4)
    #expect(keys == [1, 2, 3, 4])
    enter(5)
    #expect(keys == [3, 4, 5])
    #expect(cache.statistics.evictions == 2)
    #expect(cache.statistics.rows == 3)
    enter(3)
    enter(5)
    #expect(cache.statistics.rows == 3)
  }

  @Test func `an odd limit is not exceeded`() {
    cache.policy.limit = 3
    enterEach(1...3)
    #expect(keys == [1, 2, 3])
    enter(4)
    #expect(keys == [3, 4])
    #expect(cache.statistics.evictions == 2)
  }

  @Test func `one read fills half of the cache at most`() {
    enter(1...5)
    #expect(keys == [1, 2])
    // More rows than the cache adds under one lock.
    cache.policy.limit = 1_400
    enter(101...1_200)
    #expect(cache.statistics.rows == 2 + 700)
    #expect(version(800) == 1)
    #expect(version(801) == nil)
  }

  @Test func `a smaller limit evicts rows at once, the rows read first before the others`() {
    enterEach(1...4)
    cache.policy.limit = 4
    #expect(keys == [1, 2, 3, 4])
    cache.policy.limit = 3
    #expect(keys == [3, 4])
    cache.policy.limit = 1
    #expect(keys == [])
    enter(1)
    #expect(keys == [1])
    cache.policy = RowCachePolicy(limit: 4, expiry: 0)
    #expect(keys == [])
    enter(1)
    enter(1...2)
    #expect(cache.statistics.rows == 0)
    #expect(cache.cachedStore(for: store) == nil)
  }

  @Test func `rows are evicted by halves of the expiry, counted from the first read of each half`() {
    let start = ContinuousClock.now
    let seconds = Atomic<Int>(0)
    cache.setClock { start + .seconds(seconds.load(ordering: .relaxed)) }
    /// The keys after a unit of work at a time has begun.
    func keys(at time: Int) -> [Int64] {
      seconds.store(time, ordering: .relaxed)
      _ = cache.cachedStore(for: store)
      return self.keys
    }
    enter(1)
    #expect(keys(at: 29) == [1])
    enter(2)
    #expect(keys(at: 30) == [1, 2])
    enter(3)
    #expect(keys(at: 59) == [1, 2, 3])
    #expect(keys(at: 60) == [3])
    #expect(keys(at: 89) == [3])
    #expect(keys(at: 90) == [])
    #expect(cache.statistics.evictions == 3)
  }

  // MARK: Several rows

  @Test func `the cached rows of several records are returned with the keys of the others`() throws {
    enterEach(1...3)
    let found = try #require(cache.candidates([9, 3, 1, 8], in: store.spaces[entity], of: cached))
    #expect(Set(found.rows.map(\.key)) == [1, 3])
    #expect(Set(found.missing) == [8, 9])
    #expect(found.mark == StateMark(1))
    #expect(cache.statistics.hits == 2)
    #expect(cache.statistics.misses == 2)
  }

  @Test func `all keys are misses when none of the rows is cached`() {
    let space = store.spaces[entity]
    #expect(cache.candidates([1, 2, 3], in: space, of: cached) == nil)
    #expect(cache.statistics.misses == 3)
    enter(1)
    #expect(cache.candidates([2, 3], in: space, of: cached) == nil)
    #expect(cache.statistics.misses == 5)
    #expect(cache.statistics.hits == 0)
  }

  @Test func `more records than the cache looks up under one lock have one result`() throws {
    enter(1)
    enter(700)
    let keys = Array(1...1_100) as [Int64]
    let found = try #require(cache.candidates(keys, in: store.spaces[entity], of: cached))
    #expect(found.rows.map(\.key) == [1, 700])
    #expect(found.missing == keys.filter { $0 != 1 && $0 != 700 })
    #expect(cache.statistics.hits == 2)
    #expect(cache.statistics.misses == 1_098)
  }

  // MARK: Parts

  @Test func `a generation releases its rows`() {
    weak var removed: RowStorage?
    weak var kept: RowStorage?
    do {
      let generation = RowGeneration()
      do {
        let (first, second) = (row(1), row(2))
        (removed, kept) = (first.storage, second.storage)
        generation.enter(first)
        generation.enter(second)
      }
      #expect(generation.count == 2)
      #expect(generation.has(id(1)) && !generation.has(id(3)))
      #expect(generation.replace(row(3)) == nil)
      _ = generation.remove(id(1))
      #expect(removed == nil)
      #expect(generation.remove(id(1)) == nil)
      #expect(generation.count == 1)
      #expect(kept != nil)
      withExtendedLifetime(generation) {}
    }
    #expect(kept == nil)
  }

  @Test func `a record counts as read before from its second read on`() {
    #expect(!cache.wasReadBefore(id(1)))
    #expect(!cache.wasReadBefore(id(2)))
    #expect(cache.wasReadBefore(id(1)))
    #expect(cache.wasReadBefore(id(2)))
    #expect(!cache.wasReadBefore(id(3)))
  }
}
