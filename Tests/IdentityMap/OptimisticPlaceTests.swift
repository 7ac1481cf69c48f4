import CoherenceIdentityMap
import Testing

/// The changes of an optimistic update in the entities of an aggregate.
@Suite("Changes by an optimistic update")
struct OptimisticPlaceTests {
  private let log = Log()
  private let store: EntityStore

  init() { store = makeStore(logger: log) }

  private var rejections: [String] { log.lines.filter { $0.hasPrefix("rejected") } }

  private func document() -> EntityObserver<Document> {
    let leaf = Leaf(2, "old")
    return store.store(entity: Document(id: 1, author: leaf, editor: leaf, readers: [Leaf(3), leaf]))
  }

  private func texts(_ document: Document) -> [String?] {
    [document.author.text, document.editor.text, document.readers[1].text]
  }

  @Test(arguments: Spot.allCases)
  func `an optimistic change counts at any of an entity's places`(spot: Spot) {
    let held = document()
    let (received, subscription) = held.changes()
    let change = store.optimistically { $0.update(Document.self, id: 1) { spot.change(&$0) { $0 = "new" } } }
    #expect(store.find(Leaf.self, id: 2)?.value.text == "new" && texts(held.current) == ["new", "new", "new"])
    change.rollback()
    #expect(store.find(Leaf.self, id: 2)?.value.text == "old" && texts(held.current) == ["old", "old", "old"])
    #expect(received.values.map(\.author.text) == ["new", "old"] && rejections.isEmpty)
    withExtendedLifetime(subscription) {}
  }

  @Test(arguments: Spot.allCases)
  func `an optimistic change at one of several places lasts after its commit`(spot: Spot) {
    let held = document()
    store.optimistically { $0.update(Document.self, id: 1) { spot.change(&$0) { $0 = "new" } } }.commit()
    #expect(texts(held.current) == ["new", "new", "new"])
    _ = store.store(entity: Leaf(2, "newer"))
    #expect(texts(held.current) == ["newer", "newer", "newer"])
  }

  @Test(arguments: Spot.allCases)
  func `confirmed data is stored below an optimistic change at one of several places`(spot: Spot) {
    let held = document()
    let change = store.optimistically { $0.update(Document.self, id: 1) { spot.change(&$0) { $0? += "!" } } }
    _ = store.store(entity: Leaf(2, "surer"))
    #expect(texts(held.current) == ["surer!", "surer!", "surer!"])
    let whole = Leaf(2, "whole")
    _ = store.store(entity: Document(id: 1, author: whole, editor: Leaf(4), readers: [Leaf(3), whole]))
    #expect(held.current.author.text == "whole!" && held.current.editor == Leaf(4))
    change.rollback()
    #expect(held.current == Document(id: 1, author: whole, editor: Leaf(4), readers: [Leaf(3), whole]))
  }

  @Test func `confirmed data of other fields is visible through an optimistic change of an entity in an aggregate`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2), note: Note(id: 3, fields: ["a": "1"])))
    let change = store.optimistically { $0.update(Root.self, id: 1) { $0.note?.fields["a"] = "draft" } }
    _ = store.store(entity: Note(id: 3, fields: ["a": "2", "b": "2"]))
    #expect(held.current.note?.fields == ["a": "draft", "b": "2"])
    change.rollback()
    #expect(held.current.note?.fields == ["a": "2", "b": "2"])
  }

  @Test func `of two different optimistic changes of one entity the last place counts and the logger is notified`() {
    let held = document()
    let change = store.optimistically { draft in
      draft.update(Document.self, id: 1) { document in
        document.author.text = "first"
        document.editor.text = "second"
      }
    }
    #expect(texts(held.current) == ["second", "second", "second"])
    #expect(rejections == ["rejected Leaf 2: differentChanges"])
    change.rollback()
    #expect(texts(held.current) == ["old", "old", "old"])
  }

  @Test func `the same optimistic change of one entity at two places is made once`() {
    let held = document()
    let change = store.optimistically { draft in
      draft.update(Document.self, id: 1) { document in
        document.author.text? += "!"
        document.readers[1].text? += "!"
      }
    }
    #expect(texts(held.current) == ["old!", "old!", "old!"] && rejections.isEmpty)
    _ = store.store(entity: Leaf(2, "surer"))
    #expect(texts(held.current) == ["surer!", "surer!", "surer!"])
    withExtendedLifetime(change) {}
  }

  @Test(arguments: [false, true])
  func `an optimistic change counts at any depth`(isDeep: Bool) {
    let leaf = Leaf(2, "old")
    let held = store.store(
      entity: Desk(id: 9, document: Document(id: 1, author: leaf, editor: leaf), chief: leaf))
    let change = store.optimistically { draft in
      draft.update(Desk.self, id: 9) { desk in
        if isDeep { desk.document.editor.text? += "!" } else { desk.chief.text? += "!" }
      }
    }
    #expect(held.current.chief.text == "old!" && held.current.document.author.text == "old!")
    _ = store.store(entity: Leaf(2, "surer"))
    #expect(held.current.chief.text == "surer!" && held.current.document.author.text == "surer!")
    change.rollback()
    #expect(held.current.chief.text == "surer" && held.current.document.author.text == "surer")
  }

  @Test func `an optimistic change moves an entity and changes it`() {
    let held = document()
    let change = store.optimistically { draft in
      draft.update(Document.self, id: 1) { document in
        document.readers.swapAt(0, 1)
        document.readers[0].text = "new"
        document.editor = document.readers[1]
      }
    }
    let new = Leaf(2, "new")
    #expect(held.current == Document(id: 1, author: new, editor: Leaf(3), readers: [new, Leaf(3)]))
    change.rollback()
    #expect(held.current.readers == [Leaf(3), Leaf(2, "old")] && held.current.editor == Leaf(2, "old"))
  }

  @Test func `an untouched place of a tentatively removed entity is no change of it`() {
    let other = Leaf(3)
    let held = store.store(entity: Document(id: 1, author: other, editor: other, readers: [Leaf(2, "old")]))
    let change = store.optimistically { $0.remove(Leaf.self, id: 2) }
    store.update(Document.self, id: 1) { $0.readers = [Leaf(2, "new"), Leaf(2, "old")] }
    change.rollback()
    #expect(held.current.readers == [Leaf(2, "new"), Leaf(2, "new")] && rejections.isEmpty)
  }

  @Test func `an entity that an optimistic change puts into an aggregate keeps its stored value`() {
    let held = document()
    let other = store.store(entity: Leaf(5, "sure"))
    let change = store.optimistically { $0.update(Document.self, id: 1) { $0.editor = Leaf(5, "guess") } }
    #expect(held.current.editor == Leaf(5, "sure") && other.current.text == "sure")
    withExtendedLifetime(change) {}
  }

  @Test func `an optimistic change of an entity in an aggregate ends with its change alone`() {
    let held = document()
    let first = store.optimistically { $0.update(Document.self, id: 1) { $0.author.text? += "1" } }
    let second = store.optimistically { $0.update(Document.self, id: 1) { $0.editor.text? += "2" } }
    #expect(texts(held.current) == ["old12", "old12", "old12"])
    first.rollback()
    #expect(texts(held.current) == ["old2", "old2", "old2"])
    second.commit()
    #expect(texts(held.current) == ["old2", "old2", "old2"])
  }

  @Test func `an optimistic change of an aggregate inside itself changes the entities in between`() {
    let held = store.store(entity: Person(1, "a", [Person(2, "b", [Person(1, "a")])]))
    let change = store.optimistically { $0.update(Person.self, id: 1) { $0.friends[0].name = "new" } }
    #expect(store.find(Person.self, id: 2)?.value.name == "new" && held.current.name == "a")
    change.rollback()
    #expect(store.find(Person.self, id: 2)?.value.name == "b")
  }

  @Test(arguments: Spot.allCases)
  func `an update of a tentative aggregate counts for the confirmed entities in it`(spot: Spot) {
    let leaf = store.store(entity: Leaf(2, "old"))
    let change = store.optimistically { draft in
      draft.store(Document(id: 1, author: Leaf(2), editor: Leaf(2), readers: [Leaf(3), Leaf(2)]))
    }
    #expect(store.update(Document.self, id: 1) { spot.change(&$0) { $0 = "new" } })
    #expect(store.find(Document.self, id: 1).map { texts($0.value) } == ["new", "new", "new"])
    change.rollback()
    #expect(leaf.current.text == "new" && store.find(Document.self, id: 1) == nil)
  }
}

/// The places at which a document has one entity.
enum Spot: CaseIterable, Sendable {
  case author, editor, reader

  func change(_ document: inout Document, _ body: (inout String?) -> Void) {
    switch self {
    case .author: body(&document.author.text)
    case .editor: body(&document.editor.text)
    case .reader: body(&document.readers[1].text)
    }
  }
}

private struct Desk: Aggregate, Equatable {
  let id: Int
  var document: Document
  var chief: Leaf
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.document), .init(\.chief)] }
}
