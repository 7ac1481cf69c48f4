import Testing

@testable import CoherenceCore

@Suite struct InboxTests {
  private let space: IDSpace

  init() throws {
    let model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } }
    space = IDSpaces(store: StoreIdentifier("inbox"), model: model)[try model.entity(named: "Thing")]
  }

  private func id(_ key: Int) -> ManagedObjectID { ManagedObjectID(space: space, key: Int64(key)) }

  private func refresh(_ keys: Range<Int>) -> ChangeSet {
    var changes = ChangeSet()
    changes.refreshed = keys.map(id)
    return changes
  }

  @Test func `changes up to the bound are kept one by one, in their order`() {
    let inbox = Inbox()
    #expect(inbox.post(refresh(0..<1)))
    #expect(!inbox.post(refresh(1..<Inbox.bound)))
    guard case .changes(let list, let count) = inbox.removeAll() else {
      Issue.record("The changes were collapsed.")
      return
    }
    #expect(count == Inbox.bound)
    #expect(list.flatMap(\.refreshed) == (0..<Inbox.bound).map(id))
    #expect(inbox.isEmpty)
  }

  @Test func `an unprocessed inbox stops growing at ten thousand records`() {
    let inbox = Inbox()
    for start in stride(from: 0, to: 20_000, by: 100) { _ = inbox.post(refresh(start..<(start + 100))) }
    guard case .everything = inbox.removeAll() else {
      Issue.record("Twenty thousand changes were kept one by one.")
      return
    }
  }

  @Test func `links above the bound are dropped without the changes that name their owners`() throws {
    let model = try ManagedObjectModel { Entity("Tag") { Relationship("related", toMany: "Tag", inverse: nil) } }
    let related = try #require(try model.entity(named: "Tag").relationship(named: "related"))
    guard case .links(let table, _) = related.storage else { throw CoherenceError(.wrongType, "No table of links.") }
    let inbox = Inbox()
    func post(_ count: Int) {
      var links = LinkChanges()
      for key in 1...Int64(count) { links.add(Link(source: 0, target: key), to: table) }
      var changes = refresh(0..<1)
      changes.links = SavedLinks(number: 1)
      changes.links?.add(links, in: StoreIdentifier("inbox"))
      _ = inbox.post(changes)
    }
    for count in [1, Inbox.bound, Inbox.bound - 1, 1] { post(count) }
    guard case .changes(let list, count: 4) = inbox.removeAll() else {
      Issue.record("The changes were collapsed.")
      return
    }
    #expect(list.map { $0.links?.count } == [1, nil, Inbox.bound - 1, nil])
    // The inbox counts anew.
    post(Inbox.bound)
    guard case .changes(let later, count: 1) = inbox.removeAll() else {
      Issue.record("The change was collapsed.")
      return
    }
    #expect(later.map { $0.links?.count } == [Inbox.bound])
  }

  @Test func `deletions and permanent identifiers are kept beyond the bound, because they cannot be read again`() {
    let inbox = Inbox()
    var first = refresh(0..<20_000)
    first.deleted = [id(1)]
    first.permanentIDs = [id(-1): id(2)]
    _ = inbox.post(first)
    var second = ChangeSet()
    second.deleted = [id(3)]
    second.permanentIDs = [id(-2): id(4)]
    #expect(!inbox.post(second))
    guard case .everything(let overflow) = inbox.removeAll() else {
      Issue.record("Twenty thousand changes were kept one by one.")
      return
    }
    #expect(overflow.deleted == [id(1), id(3)])
    #expect(overflow.permanentIDs == [id(-1): id(2), id(-2): id(4)])
  }

  @Test func `a post that everything may have changed collapses the list and keeps its identifiers and deletes`() {
    let inbox = Inbox()
    var first = refresh(0..<2)
    first.deleted = [id(1)]
    #expect(inbox.post(first))
    #expect(!inbox.post(Inbox.Overflow(permanentIDs: [id(-1): id(2)], deleted: [id(3)])))
    guard case .everything(let overflow) = inbox.removeAll() else {
      Issue.record("The changes were kept one by one.")
      return
    }
    #expect(overflow.deleted == [id(1), id(3)])
    #expect(overflow.permanentIDs == [id(-1): id(2)])
    #expect(inbox.post(Inbox.Overflow(deleted: nil)))
    guard case .everything(let unlisted) = inbox.removeAll() else {
      Issue.record("The inbox lost the post.")
      return
    }
    #expect(unlisted.deleted == nil)
  }

  @Test func `permanent identifiers of unread changes stop growing too`() {
    let inbox = Inbox()
    for start in stride(from: 0, to: 40_000, by: 100) {
      var changes = ChangeSet()
      changes.deleted = (start..<(start + 100)).map(id)
      for key in start..<(start + 100) { changes.permanentIDs[id(-key - 1)] = id(key) }
      _ = inbox.post(changes)
      #expect(inbox.size <= Inbox.bound)
    }
    guard case .everything(let overflow) = inbox.removeAll() else {
      Issue.record("Forty thousand changes were kept one by one.")
      return
    }
    #expect(overflow.deleted == nil)
    #expect(overflow.permanentIDs[id(-40_000)] == id(39_999))
  }

  // MARK: Bounds

  /// The content of a collapsed inbox; `nil` for a list of changes.
  private func overflow(of inbox: Inbox) -> Inbox.Overflow? {
    guard case .everything(let overflow) = inbox.removeAll() else { return nil }
    return overflow
  }

  @Test func `a post without changes counts as one`() {
    let inbox = Inbox()
    for _ in 0..<Inbox.bound { _ = inbox.post(ChangeSet()) }
    #expect(inbox.size == Inbox.bound)
    _ = inbox.post(ChangeSet())
    #expect(overflow(of: inbox) != nil)
    #expect(inbox.size == 0)
  }

  @Test func `deletes are kept up to the bound, and dropped beyond it`() {
    let inbox = Inbox()
    var changes = ChangeSet()
    changes.deleted = (0..<Inbox.bound).map(id)
    _ = inbox.post(refresh(0..<1))
    _ = inbox.post(changes)
    _ = inbox.post(changes)
    #expect(inbox.size == Inbox.bound)
    #expect(overflow(of: inbox)?.deleted?.count == Inbox.bound)
    _ = inbox.post(Inbox.Overflow(deleted: Set(changes.deleted)))
    _ = inbox.post(Inbox.Overflow(deleted: [id(0)]))
    #expect(inbox.size == Inbox.bound)
    _ = inbox.post(Inbox.Overflow(deleted: [id(Inbox.bound)]))
    #expect(inbox.size == 0)
    let collapsed = overflow(of: inbox)
    #expect(collapsed != nil)
    #expect(collapsed?.deleted == nil)
  }

  @Test func `above the bound, the latest permanent identifiers replace earlier identifiers, unless a post has none`() {
    func identifiers(_ keys: Range<Int>) -> [ManagedObjectID: ManagedObjectID] {
      Dictionary(uniqueKeysWithValues: keys.map { (id(-$0 - 1), id($0)) })
    }
    var overflow = Inbox.Overflow(permanentIDs: identifiers(0..<(Inbox.bound - 1)))
    overflow.add(Inbox.Overflow(permanentIDs: identifiers((Inbox.bound - 1)..<Inbox.bound)))
    #expect(overflow.permanentIDs.count == Inbox.bound)
    overflow.add(Inbox.Overflow())
    #expect(overflow.permanentIDs.count == Inbox.bound)
    overflow.add(Inbox.Overflow(permanentIDs: identifiers(20_000..<20_002)))
    #expect(overflow.permanentIDs == identifiers(20_000..<20_002))
  }

  @Test func `a post without a list of deletes makes the deletes of all posts unknown`() {
    var overflow = Inbox.Overflow(deleted: [id(1)])
    overflow.add(Inbox.Overflow(deleted: nil))
    #expect(overflow.deleted == nil)
    overflow.add(Inbox.Overflow(deleted: [id(2)]))
    #expect(overflow.deleted == nil)
  }

  @Test func `changes are unapplied until the end of their application, also in a nested one`() {
    let inbox = Inbox()
    var applied = 0
    inbox.applyAll { _ in applied += 1 }
    #expect(applied == 0)
    #expect(!inbox.hasUnapplied)
    _ = inbox.post(refresh(0..<1))
    #expect(inbox.hasUnapplied)
    inbox.applyAll { _ in
      applied += 1
      #expect(inbox.isEmpty)
      #expect(inbox.hasUnapplied)
      inbox.applyContent { content in
        if case .nothing = content { applied += 1 }
      }
      #expect(inbox.hasUnapplied)
    }
    #expect(applied == 2)
    #expect(!inbox.hasUnapplied)
  }

  @Test func `the content is read without being removed`() {
    let inbox = Inbox()
    if case .nothing = inbox.content {} else { Issue.record("An empty inbox has content.") }
    _ = inbox.post(refresh(0..<3))
    for _ in 0..<2 {
      guard case .changes(let list, let count) = inbox.content else {
        Issue.record("The inbox has lost its content.")
        return
      }
      #expect(list.count == 1 && count == 3)
    }
    if case .nothing = inbox.removeAll() { Issue.record("The inbox has lost its content.") }
    if case .nothing = inbox.removeAll() {} else { Issue.record("The content was removed twice.") }
  }

  @Test func `the inbox of an empty context drops changes of known records, unless other changes wait`() {
    let inbox = Inbox()
    inbox.noteEmptyContext()
    #expect(!inbox.post(refresh(0..<1)))
    #expect(inbox.isEmpty && inbox.size == 0)
    var named = ChangeSet()
    named.permanentIDs = [.temporary(for: space.root): id(1)]
    #expect(!inbox.post(named))
    #expect(inbox.isEmpty && inbox.size == 0)
    var renamed = ChangeSet()
    renamed.permanentIDs = [id(-1): id(1)]
    #expect(inbox.post(renamed))
    #expect(!inbox.post(refresh(1..<2)))
    #expect(inbox.size == 2)
    inbox.noteUse()
    // Changes wait, for which the context makes objects.
    inbox.noteEmptyContext()
    _ = inbox.removeAll()
    #expect(inbox.post(refresh(0..<1)))
    _ = inbox.removeAll()
    inbox.noteEmptyContext()
    #expect(inbox.post(Inbox.Overflow()))
  }
}
