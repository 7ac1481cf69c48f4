import Testing

@testable import CoherenceCore

/// The readers of a context during a unit of work: their number, their states and their ends.
@Suite struct ReadLeaseTests {
  /// A reader that counts its ends and its reads.
  private final class CountedReader: YieldingReader, StateLosingReader {
    var hold: StateHold?
    var stateNumber = 0
    var hasLostState = false
    private(set) var ends = 0
    private(set) var reads = 0
    private let takesOffers: Bool

    init(takesOffers: Bool) { self.takesOffers = takesOffers }

    func offerToSave() -> Bool { takesOffers }
    func fetch(_ query: StoreQuery) throws -> StoreFetch { throw CountedStore.unused }
    func row(_ key: Int64, of root: EntityDescription) throws -> Row? {
      reads += 1
      return nil
    }
    func rows(_ keys: [Int64], of root: EntityDescription) throws -> [Row] { throw CountedStore.unused }
    func links(_ table: LinkTable, of keys: [Int64], fromSource: Bool) throws -> [Link] { throw CountedStore.unused }
    func count(_ query: StoreQuery) throws -> Int? { throw CountedStore.unused }
    func finish() { ends += 1 }
  }

  private final class CountedStore: PersistentStore {
    let environment: StoreEnvironment
    let spaces: IDSpaces
    let capabilities: StoreCapabilities
    private let takesOffers: Bool

    init(
      _ name: String, _ model: ManagedObjectModel, _ capabilities: StoreCapabilities = .concurrentReads,
      takesOffers: Bool = false
    ) {
      environment = StoreEnvironment(type: StoreType("Counted"), url: nil, model: model)
      spaces = IDSpaces(store: StoreIdentifier(name), model: model)
      self.capabilities = capabilities
      self.takesOffers = takesOffers
    }

    static var unused: CoherenceError { CoherenceError(.unsupported, "The tests do not use this.") }

    func metadata() throws -> StoreMetadata { throw Self.unused }
    func setUserInfo(_ userInfo: [String: String]) throws { throw Self.unused }
    func makeReader() throws -> any StoreReader { CountedReader(takesOffers: takesOffers) }
    func allocateKeys(_ count: Int, for root: EntityDescription) throws -> Range<Int64> { throw Self.unused }
    func save(_ request: StoreSaveRequest) throws { throw Self.unused }
    func close() {}
  }

  private let model: ManagedObjectModel
  private let store: CountedStore
  private let other: CountedStore

  init() throws {
    model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } }
    store = CountedStore("first", model)
    other = CountedStore("second", model)
  }

  private func read(_ store: CountedStore, in lease: inout ReadLease) throws -> CountedReader {
    let reader = try lease.reader(for: store)
    return try #require(reader as? CountedReader)
  }

  /// The error of a read.
  private func refusal(of store: CountedStore, in lease: inout ReadLease) -> CoherenceError? {
    do {
      _ = try lease.reader(for: store)
      return nil
    } catch {
      return error as? CoherenceError
    }
  }

  // MARK: Units of work

  @Test func `a unit of work has one reader for each store, until its end`() throws {
    var lease = ReadLease()
    let reader = try read(store, in: &lease)
    #expect(lease.hasNewReader)
    lease.noteNewReaderHandled()
    let again = try read(store, in: &lease)
    #expect(again === reader)
    #expect(!lease.hasNewReader)
    let second = try read(other, in: &lease)
    #expect(second !== reader)
    #expect(lease.hasNewReader && lease.readerCount == 2)
    #expect(!lease.hasEnded)
    let number = lease.number
    lease.end()
    #expect([reader.ends, second.ends] == [1, 1])
    #expect(lease.hasEnded && lease.readerCount == 0)
    #expect(lease.number == number + 1)
    lease.beginUnit()
    #expect(!lease.hasEnded)
    lease.end()
    #expect(lease.hasEnded)
    #expect(lease.number == number + 1)
    #expect(reader.ends == 1)
  }

  @Test func `a snapshot and a lasting lease keep their readers over the end of a unit, and not over a save`() throws {
    var lease = ReadLease()
    lease.pins = 1
    #expect(!lease.isPinned)
    let pinned = try read(store, in: &lease)
    #expect(lease.isPinned)
    lease.end()
    #expect(pinned.ends == 0)
    lease.endForSave()
    #expect(pinned.ends == 1 && !lease.isPinned)
    lease.pins = 0
    lease.beginLasting()
    let lasting = try read(store, in: &lease)
    #expect(lasting.hold?.isLasting == true)
    lease.end()
    #expect(lasting.ends == 0)
    lease.restartLasting()
    #expect(lasting.ends == 1)
    let restarted = try read(store, in: &lease)
    lease.end()
    #expect(restarted.ends == 0)
    lease.endLasting()
    #expect(restarted.ends == 1)
    let ordinary = try read(store, in: &lease)
    lease.end()
    #expect(ordinary.ends == 1)
  }

  @Test func `a reader that continues in a later state raises the number of the lease once`() throws {
    var lease = ReadLease()
    let reader = try read(store, in: &lease)
    let number = lease.number
    reader.stateNumber = 5
    _ = try read(store, in: &lease)
    #expect(lease.number == number + 1)
    _ = try read(store, in: &lease)
    #expect(lease.number == number + 1)
  }

  @Test func `a reader stays in its state until the outermost operation ends`() throws {
    var lease = ReadLease()
    let reader = try read(store, in: &lease)
    let hold = try #require(reader.hold)
    #expect(hold.isFree)
    lease.beginOperation()
    lease.beginOperation()
    _ = try read(store, in: &lease)
    let second = try read(other, in: &lease)
    let fresh = try #require(second.hold)
    #expect(!hold.isFree && !fresh.isFree)
    lease.endOperation()
    #expect(!hold.isFree && !fresh.isFree)
    lease.endOperation()
    #expect(hold.isFree && fresh.isFree)
  }

  @Test func `outside of snapshots, a failed operation finishes the readers with lost states`() throws {
    for (pins, isLasting, fails) in [(0, false, true), (0, false, false), (1, false, true), (0, true, true)] {
      var lease = ReadLease()
      lease.pins = pins
      if isLasting { lease.beginLasting() }
      let lost = try read(store, in: &lease)
      let kept = try read(other, in: &lease)
      lost.hasLostState = true
      let number = lease.number
      lease.beginOperation()
      if fails { lease.noteFailedOperation() }
      lease.endOperation()
      let isFinished = fails && pins == 0 && !isLasting
      #expect(lost.ends == (isFinished ? 1 : 0))
      #expect(kept.ends == 0)
      #expect(lease.readerCount == (isFinished ? 1 : 2))
      #expect(lease.number == number + (isFinished ? 1 : 0))
      // The failure belongs to that operation alone.
      kept.hasLostState = true
      lease.pins = 0
      lease.beginOperation()
      lease.endOperation()
      #expect(kept.ends == 0)
    }
  }

  // MARK: Offers

  @Test func `a save gets the connections of readers that offer them, and these readers end with the save`() throws {
    let offering = CountedStore("offering", model, takesOffers: true)
    var lease = ReadLease()
    let offered = try read(offering, in: &lease)
    let refused = try read(store, in: &lease)
    let number = lease.number
    offered.hold?.take()
    lease.offerForSave()
    #expect(offered.ends == 0 && refused.ends == 1)
    #expect(offered.hold?.isFree == true)
    #expect(lease.hasEnded && lease.readerCount == 0)
    #expect(lease.number == number + 1)
    lease.endOffers()
    lease.endOffers()
    #expect(offered.ends == 1)
    lease.offerForSave()
    #expect(lease.number == number + 1)
  }

  @Test func `a read during a save takes the place of the offered reader of its store`() throws {
    let (first, second) = (
      CountedStore("offering", model, takesOffers: true), CountedStore("another", model, takesOffers: true)
    )
    var lease = ReadLease()
    let firstReader = try read(first, in: &lease)
    let secondReader = try read(second, in: &lease)
    let offered = [firstReader, secondReader]
    lease.offerForSave()
    let reader = try read(second, in: &lease)
    #expect(reader !== offered[1])
    #expect(offered.map(\.ends) == [0, 1])
    lease.endOffers()
    #expect(offered.map(\.ends) == [1, 1])
    #expect(reader.ends == 0)
  }

  // MARK: Pinned snapshots

  @Test func `a pinned snapshot outlives units of work, and ends with the reason of its first failure`() throws {
    var lease = ReadLease()
    let pin = SnapshotPin(unreadLimit: .seconds(3))
    lease.beginPin(pin)
    #expect(lease.isPinned && !lease.isPinInUse)
    try lease.fixReader(for: store)
    let reader = try read(store, in: &lease)
    #expect(reader.reads == 1)
    lease.end()
    #expect(reader.ends == 0)
    lease.failPin(.unread(.seconds(3)))
    #expect(reader.ends == 1)
    lease.endForSave()
    let refused = refusal(of: store, in: &lease)
    let expired = try #require(refused)
    #expect(expired.code == .snapshotExpired)
    #expect(expired.message.contains("was not read for"))
    let ended = lease.endPin()
    #expect(ended === pin)
    let endedAgain = lease.endPin()
    #expect(endedAgain == nil)
    #expect(lease.pins == 0 && !lease.isPinned)
    let ordinary = try read(store, in: &lease)
    lease.end()
    #expect(ordinary.ends == 1)
  }

  @Test func `a write of the context, or a failure to pin a state, ends a pinned snapshot`() throws {
    var lease = ReadLease()
    lease.failPin(.endedByWrite)
    lease.beginPin(SnapshotPin(unreadLimit: .seconds(3)))
    lease.endForSave()
    let written = refusal(of: store, in: &lease)
    #expect(written?.message.contains("ended with a write of the context") == true)
    #expect(written?.underlying == nil)
    _ = lease.endPin()
    lease.beginPin(SnapshotPin(unreadLimit: .seconds(3)))
    lease.failPin(.notMoved(CoherenceError(.storeBusy, "Busy.")))
    let lost = refusal(of: store, in: &lease)
    #expect(lost?.message.contains("has lost its state") == true)
    #expect((lost?.underlying as? CoherenceError)?.code == .storeBusy)
  }

  @Test func `a pinned snapshot has no state of a detached or reattached store`() throws {
    var lease = ReadLease()
    lease.forgetPinned(store)
    lease.beginPin(SnapshotPin(unreadLimit: .seconds(3)))
    let reader = try read(store, in: &lease)
    let second = try read(other, in: &lease)
    let number = lease.number
    lease.forgetPinned(store)
    #expect(reader.ends == 1 && second.ends == 0)
    #expect(lease.number == number + 1)
    let detached = refusal(of: store, in: &lease)
    #expect(detached?.code == .storeDetached)
    let attachedAgain = refusal(of: CountedStore("second", model), in: &lease)
    #expect(attachedAgain?.code == .storeDetached)
    let present = try read(other, in: &lease)
    #expect(present === second)
    let unable = refusal(of: CountedStore("third", model, []), in: &lease)
    #expect(unable?.code == .unsupported)
  }

  @Test func `a pinned snapshot is in use during an operation and during a snapshot inside of it`() {
    var lease = ReadLease()
    lease.beginPin(SnapshotPin(unreadLimit: .seconds(3)))
    lease.beginOperation()
    #expect(lease.isPinInUse)
    lease.endOperation()
    #expect(!lease.isPinInUse)
    lease.pins += 1
    #expect(lease.isPinInUse)
  }

  // MARK: Turns of the main queue

  @Test func `an operation belongs to the open turn until a save of the main actor, a refresh or the end`() {
    var turn = MainTurn()
    var lease = ReadLease()
    let saves = SaveCount()
    saves.riseOfMain()
    #expect(!turn.isCurrent(lease))
    turn.isSuperseded = true
    turn.hasProcessedInbox = true
    turn.open(isLasting: true, saves: saves)
    #expect(turn.isCurrent(lease) && turn.isLasting && !turn.hasProcessedInbox)
    saves.rise()
    #expect(turn.isCurrent(lease))
    saves.riseOfMain()
    #expect(!turn.isCurrent(lease))
    turn.open(isLasting: false, saves: saves)
    #expect(turn.isCurrent(lease) && !turn.isLasting)
    lease.endForSave()
    #expect(!turn.isCurrent(lease))
    lease.beginUnit()
    #expect(turn.isCurrent(lease))
    turn.isSuperseded = true
    #expect(!turn.isCurrent(lease))
    turn.open(isLasting: true, saves: nil)
    saves.riseOfMain()
    #expect(turn.isCurrent(lease))
    turn.close()
    #expect(!turn.isOpen && !turn.isLasting && !turn.isCurrent(lease))
  }

  @Test func `a request for changes is taken once, and ends with the turn`() {
    var turn = MainTurn()
    var requests = [turn.takeRequestedChanges()]
    turn.requestChanges()
    for _ in 0..<2 { requests.append(turn.takeRequestedChanges()) }
    turn.requestChanges()
    turn.close()
    requests.append(turn.takeRequestedChanges())
    #expect(requests == [false, true, false, false])
  }
}
