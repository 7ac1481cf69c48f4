import Testing

@testable import CoherenceCore

/// The content of the inbox of live results: waiting changes, kept marks and dropped changes.
@Suite("Content of the inbox of live results")
struct LiveInboxStateTests {
  private final class Token: Sendable {}

  private let model: ManagedObjectModel
  private let context = ManagedObjectContext()
  private let inbox: LiveInbox

  init() throws {
    model = try ManagedObjectModel {
      Entity("Thing") { Attribute("name", .string) }
      Entity("Other") { Attribute("name", .string) }
    }
    let handle = context.storage.handle
    inbox = LiveInbox(try #require(handle), context.storage.confinement)
  }

  private func id(_ key: Int64, _ name: String = "Thing") throws -> ManagedObjectID {
    let spaces = IDSpaces(store: StoreIdentifier("content"), model: model)
    return ManagedObjectID(space: spaces[try model.entity(named: name)], key: key)
  }

  private func touched(_ key: Int64) throws -> TouchedRecords {
    var records = TouchedRecords()
    records.add(try id(key))
    return records
  }

  private func changes(_ name: String = "Thing") throws -> StoreChanges {
    var changes = StoreChanges()
    changes.add(batch: [try id(1, name)], as: .updated)
    changes.noteRoots()
    return changes
  }

  /// The interest of a result with all things.
  private func interest(only: ManagedObjectID? = nil) throws -> ResultInterest {
    let entity = try model.entity(named: "Thing")
    return ResultInterest(
      isFetched: model.entities.sorted { $0.position < $1.position }.map { $0 === entity }, entity: entity,
      includesSubentities: true, dependencies: try ResultDependencies(nil, [], of: entity), only: only)
  }

  @Test func `changes that arrive while the context follows none wait, and come first afterwards`() throws {
    let (first, second) = (Token(), Token())
    let ids = try (1...3).map { try id($0) }
    inbox.receive(try touched(1))
    inbox.follow(.none)
    #expect(inbox.isEmpty)
    inbox.receive(try touched(2))
    inbox.receive(.detached(first))
    #expect(inbox.isEmpty && !inbox.hasOnlyTouched)
    inbox.follow(.all)
    #expect(!inbox.isEmpty)
    inbox.receive(try touched(3))
    inbox.receive(.detached(second))
    let content = inbox.take()
    #expect(content.touched.map(\.ids) == ids.map { Set([$0]) })
    #expect(content.detached.map { $0 === first } == [true, false])
    #expect(content.isFromStores && !content.isEverything && !content.isPostponed && !content.isUncertain)
    #expect(inbox.isEmpty && inbox.take().touched.isEmpty)
  }

  @Test func `a context with a pinned snapshot follows its own changes, and the others once the snapshot moves`()
    throws
  {
    inbox.follow(.ownChanges)
    inbox.receive(.everything)
    #expect(inbox.isEmpty)
    inbox.receive(try touched(1))
    #expect(!inbox.isEmpty && inbox.hasOnlyTouched)
    inbox.follow(.ownChanges)
    #expect(!inbox.isEmpty && !inbox.hasOnlyTouched)
    let content = inbox.take()
    #expect(content.isEverything && content.isFromStores && content.touched.count == 1)
  }

  @Test func `the same following as before moves no waiting change`() throws {
    inbox.follow(.none)
    inbox.receive(.everything)
    inbox.follow(.none)
    inbox.receive(try touched(1))
    #expect(inbox.isEmpty)
    inbox.follow(.all)
    #expect(inbox.take().isEverything)
  }

  @Test func `each kind of content makes the inbox not empty, and a postponed turn is none of the stores`() throws {
    inbox.postpone()
    #expect(!inbox.isEmpty && inbox.hasOnlyTouched)
    let postponed = inbox.take()
    #expect(postponed.isPostponed && !postponed.isEverything)
    inbox.runAgain()
    #expect(!inbox.isEmpty && !inbox.hasOnlyTouched)
    #expect(inbox.take().isEverything)
    inbox.receive(.detached(Token()))
    #expect(!inbox.isEmpty && !inbox.hasOnlyTouched && inbox.take().detached.count == 1)
    var renamed = TouchedRecords()
    renamed.rename(try id(1), to: try id(2))
    inbox.receive(renamed)
    #expect(!inbox.isEmpty && inbox.hasOnlyTouched)
    var everything = TouchedRecords()
    everything.isEverything = true
    _ = inbox.take()
    inbox.receive(everything)
    #expect(inbox.take().isEverything)
  }

  @Test func `what waits keeps its marks`() throws {
    inbox.setInterests([try interest()])
    inbox.receive(.changed(try changes()))
    inbox.markUncertain()
    inbox.postpone()
    for key in 0...Int64(LiveInbox.bound) { inbox.receive(try touched(key)) }
    inbox.follow(.none)
    inbox.follow(.all)
    let content = inbox.take()
    #expect(content.isUncertain && content.isPostponed && content.isEverything)
    #expect(content.hasLostTouched && content.isFromStores)
  }

  @Test func `a change of the stores that concerns no result is dropped`() throws {
    inbox.receive(.changed(try changes()))
    #expect(inbox.isEmpty)
    inbox.setInterests([try interest()])
    inbox.receive(.changed(try changes("Other")))
    #expect(inbox.isEmpty)
    inbox.receive(.changed(try changes()))
    #expect(inbox.take().changes.count == 1)
    inbox.setInterests([try interest(only: try id(2))])
    inbox.receive(.changed(try changes()))
    #expect(inbox.isEmpty)
    inbox.setInterests([try interest(only: try id(2)), try interest(only: try id(1))])
    inbox.receive(.changed(try changes()))
    #expect(inbox.take().changes.count == 1)
  }

  @Test func `changes are uncertain only if they were posted before the mark`() throws {
    inbox.setInterests([try interest()])
    inbox.markUncertain()
    inbox.receive(.changed(try changes()))
    #expect(!inbox.take().isUncertain)
    inbox.receive(.changed(try changes()))
    inbox.markUncertain()
    #expect(inbox.take().isUncertain)
    inbox.follow(.none)
    inbox.receive(.changed(try changes()))
    inbox.markUncertain()
    inbox.follow(.all)
    #expect(inbox.take().isUncertain)
  }

  @Test func `new and former identifiers and links of a hierarchy concern its results`() throws {
    let interest = try interest()
    var renamed = StoreChanges()
    renamed.renamed = [try id(1): try id(2)]
    renamed.noteRoots()
    #expect(interest.concerns(renamed) && !interest.concerns(StoreChanges()))
    var others = StoreChanges()
    others.renamed = [try id(1, "Other"): try id(2, "Other")]
    others.relinked = [try id(1, "Other"): []]
    others.noteRoots()
    #expect(!interest.concerns(others))
    others.relinked = [try id(1): []]
    others.noteRoots()
    #expect(interest.concerns(others))
  }
}
