import CoherenceIdentityMap
import Testing

@Suite("Policies for the removal of entities in aggregates")
struct RemovalPolicyTests {
  private struct Refusal: Error {}
  private let log = RemovalLog()
  private let store: EntityStore

  init() {
    store = EntityStore(delivery: .immediate, logger: log)
  }

  private let ann = Leaf(2, "Ann")

  private func storeArticle(editor: Leaf? = nil, readers: [Leaf] = []) -> EntityObserver<Article> {
    store.store(entity: Article(id: 1, author: ann, editor: editor, readers: readers))
  }

  // MARK: Keeping the last value

  @Test func `an aggregate keeps the last value of a removed entity and its observers are not notified`() {
    let held = storeArticle()
    let list = store.store(entities: [held.value])
    let (received, subscription) = held.changes()
    #expect(store.remove(Leaf.self, id: 2) && !store.remove(Leaf.self, id: 2))
    #expect(store.find(Leaf.self, id: 2) == nil && store.count(of: Leaf.self) == 0)
    #expect(held.current.author == ann && list.current.map(\.author) == [ann] && received.values.isEmpty)
    withExtendedLifetime(subscription) {}
  }

  @Test func `an aggregate shows the new value of a removed entity stored again`() {
    let held = storeArticle()
    store.update(Leaf.self, id: 2) { $0.text = "Anna" }
    store.remove(Leaf.self, id: 2)
    #expect(held.current.author.text == "Anna")
    let (received, subscription) = held.changes()
    _ = store.store(entity: Leaf(2, "Ann again"))
    #expect(held.current.author.text == "Ann again" && received.values.map(\.author.text) == ["Ann again"])
    withExtendedLifetime(subscription) {}
  }

  @Test(arguments: [false, true])
  func `an update of an aggregate does not insert a removed entity that it leaves unchanged`(isOpen: Bool) {
    let held = storeArticle(readers: [Leaf(3)])
    let open = store.optimistically { if isOpen { $0.store(Item(id: 1)) } }
    store.remove(Leaf.self, id: 2)
    store.update(Article.self, id: 1) { $0.title = "new" }
    #expect(held.current == Article(id: 1, title: "new", author: ann, readers: [Leaf(3)]))
    #expect(store.find(Leaf.self, id: 2) == nil)
    store.update(Article.self, id: 1) { $0.author.text = "edited" }
    #expect(store.find(Leaf.self, id: 2)?.value.text == "edited" && held.current.author.text == "edited")
    open.rollback()
  }

  @Test func `storing an aggregate inserts its removed entities again`() {
    let held = storeArticle()
    store.remove(Leaf.self, id: 2)
    _ = store.store(entity: Article(id: 1, author: ann))
    #expect(store.find(Leaf.self, id: 2)?.value == ann)
    withExtendedLifetime(held) {}
  }

  @Test func `a removed entity stays only at places with the policy to keep the last value`() {
    let held = storeArticle(readers: [Leaf(3), ann])
    store.remove(Leaf.self, id: 2)
    #expect(held.current == Article(id: 1, author: ann, readers: [Leaf(3)]))
    _ = store.store(entity: Leaf(3, "reader"))
    _ = store.store(entity: Leaf(2, "back"))
    #expect(held.current == Article(id: 1, author: Leaf(2, "back"), readers: [Leaf(3, "reader")]))
  }

  @Test func `a place in a wrapper has its own policy`() {
    let held = store.store(entity: Post(id: 1, media: .author(ann)))
    store.remove(Leaf.self, id: 2)
    #expect(held.current.media == .author(ann) && store.find(Post.self, id: 1) != nil)
    _ = store.store(entity: Post(id: 1, media: .cover(Item(id: 5))))
    store.remove(Item.self, id: 5)
    #expect(store.find(Post.self, id: 1) == nil)
    withExtendedLifetime(held) {}
  }

  @Test func `an entity that one place keeps leaves a wrapper at the next place, and only that`() {
    let held = store.store(entity: Essay(id: 1, author: ann, opening: .quote(ann)))
    store.remove(Leaf.self, id: 2)
    #expect(held.current == Essay(id: 1, author: ann, opening: .nothing))
    #expect(store.find(Essay.self, id: 1) != nil)
    // The setter of the other case ignores `nil`, so that the wrapper requires its entity.
    _ = store.store(entity: Essay(id: 1, author: ann, opening: .portrait(ann)))
    store.remove(Leaf.self, id: 2)
    #expect(store.find(Essay.self, id: 1) == nil)
    withExtendedLifetime(held) {}
  }

  @Test func `the last value of a removed entity is released with its aggregate`() {
    var held: EntityObserver<Article>? = storeArticle()
    store.remove(Leaf.self, id: 2)
    #expect(held?.current.author == ann)
    held = nil
    #expect(store.inspect().entities.isEmpty && store.find(Article.self, id: 1) == nil)
  }

  @Test func `a rolled-back removal leaves the entity in its aggregates`() {
    let held = storeArticle()
    try? store.transaction { store throws in
      store.remove(Leaf.self, id: 2)
      store.update(Article.self, id: 1) { $0.title = "new" }
      throw Refusal()
    }
    store.update(Leaf.self, id: 2) { $0.text = "newer" }
    #expect(held.current == Article(id: 1, author: Leaf(2, "newer")))
  }

  @Test func `observers of events receive the removal of the entity and none of its aggregate`() {
    let held = storeArticle()
    let (articles, authors) = (Received<String>(), Received<String>())
    let first = held.observeEvents { articles.append("\($0)") }
    let second = store.find(Leaf.self, id: 2)?.observeEvents { authors.append("\($0)") }
    let count = articles.count
    store.remove(Leaf.self, id: 2)
    #expect(articles.count == count && authors.count == 2)
    withExtendedLifetime((first, second)) {}
  }

  // MARK: Optimistic changes

  @Test(arguments: [false, true])
  func `an aggregate keeps the last value of an entity removed tentatively`(isConfirmed: Bool) {
    let held = storeArticle(readers: [ann])
    let title = store.optimistically { $0.update(Article.self, id: 1) { $0.title = "draft" } }
    let removal = store.optimistically { $0.remove(Leaf.self, id: 2) }
    #expect(held.current == Article(id: 1, title: "draft", author: ann) && store.find(Leaf.self, id: 2) == nil)
    if isConfirmed { removal.commit() } else { removal.rollback() }
    title.rollback()
    #expect(held.current == Article(id: 1, author: ann, readers: isConfirmed ? [] : [ann]))
    #expect((store.find(Leaf.self, id: 2) == nil) == isConfirmed)
  }

  @Test func `an optimistic change of an aggregate does not insert a removed entity`() {
    let held = storeArticle()
    let first = store.optimistically { $0.update(Article.self, id: 1) { $0.title = "first" } }
    store.remove(Leaf.self, id: 2)
    let second = store.optimistically { $0.update(Article.self, id: 1) { $0.title += ", second" } }
    #expect(held.current == Article(id: 1, title: "first, second", author: ann))
    #expect(store.find(Leaf.self, id: 2) == nil)
    first.rollback()
    second.commit()
    #expect(held.current == Article(id: 1, title: ", second", author: ann) && store.find(Leaf.self, id: 2) == nil)
  }

  @Test func `a tentative entity in the place of a removed one leaves the last value`() {
    let held = storeArticle()
    store.remove(Leaf.self, id: 2)
    let change = store.optimistically { $0.store(Leaf(2, "draft")) }
    #expect(held.current.author.text == "draft")
    change.rollback()
    #expect(held.current.author == ann && store.find(Leaf.self, id: 2) == nil)
  }

  // MARK: Refusing

  @Test func `the error of a refused removal names the aggregates that refuse it`() {
    let held = storeArticle(editor: Leaf(5, "Eve"), readers: [Leaf(5, "Eve")])
    let error = #expect(throws: RemovalRefusal.self) { try store.removeOrThrow(Leaf.self, id: 5) }
    #expect(error?.entity.description == "Leaf 5" && error?.referrers.map(\.description) == ["Article 1"])
    #expect(!store.remove(Leaf.self, id: 5) && log.refused.values == ["Leaf 5"])
    #expect(held.current == Article(id: 1, author: ann, editor: Leaf(5, "Eve"), readers: [Leaf(5, "Eve")]))
    store.update(Article.self, id: 1) { $0.editor = nil }
    #expect(store.remove(Leaf.self, id: 5) && held.current == Article(id: 1, author: ann))
  }

  @Test func `a removal is refused if a removal that follows from it is refused`() {
    let held = store.store(entity: Binder(id: 1, root: Root(id: 2, leaf: Leaf(3))))
    let error = #expect(throws: RemovalRefusal.self) { try store.removeOrThrow(Leaf.self, id: 3) }
    #expect(error?.referrers.map(\.description) == ["Binder 1"])
    #expect(held.current.root.leaf == Leaf(3) && store.find(Root.self, id: 2) != nil)
  }

  @Test func `an aggregate removed with an entity does not refuse the removal`() {
    let held = store.store(entity: Case(id: 1, leaf: Leaf(3), root: Root(id: 2, leaf: Leaf(3))))
    #expect(store.remove(Leaf.self, id: 3))
    #expect(store.find(Case.self, id: 1) == nil && store.find(Root.self, id: 2) == nil)
    withExtendedLifetime(held) {}
  }

  @Test func `an optimistic removal is refused too`() {
    let held = storeArticle(editor: Leaf(5))
    var isRemoved = true
    let change = store.optimistically { isRemoved = $0.remove(Leaf.self, id: 5) }
    #expect(!isRemoved && store.find(Leaf.self, id: 5) != nil && log.refused.count == 1)
    change.commit()
    #expect(held.current.editor == Leaf(5))
  }

  @Test func `an aggregate stored after a tentative removal keeps the last value`() {
    let editor = store.store(entity: Leaf(5, "Eve"))
    let change = store.optimistically { $0.remove(Leaf.self, id: 5) }
    let held = storeArticle(editor: Leaf(5, "Eve"))
    change.commit()
    #expect(held.current.editor == Leaf(5, "Eve") && store.find(Leaf.self, id: 5) == nil)
    withExtendedLifetime(editor) {}
  }

  @Test func `removing a type leaves the entities whose removal is refused, and removing everything leaves none`() {
    let held = storeArticle(editor: Leaf(5), readers: [Leaf(6)])
    store.removeAll(Leaf.self)
    #expect(held.current == Article(id: 1, author: ann, editor: Leaf(5)) && store.count(of: Leaf.self) == 1)
    #expect(log.refused.values == ["Leaf 5"])
    store.removeAll()
    #expect(store.count(of: Leaf.self) + store.count(of: Article.self) == 0)
    _ = store.store(entity: held.value)
    store.clear()
    #expect(store.count(of: Leaf.self) + store.count(of: Article.self) == 0)
  }
}

/// An aggregate whose places have all policies.
struct Article: Aggregate, Equatable {
  let id: Int
  var title = ""
  var author: Leaf
  var editor: Leaf?
  var readers: [Leaf] = []

  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
    [.init(\.author).onRemoval(.keepLastValue), .init(\.editor).onRemoval(.refuse), .init(\.readers)]
  }
}

/// An aggregate that keeps another one from being removed.
private struct Binder: Aggregate, Equatable {
  let id: Int
  var root: Root
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.root).onRemoval(.refuse)] }
}

/// An aggregate that requires an entity and elsewhere refuses its removal.
private struct Case: Aggregate, Equatable {
  let id: Int
  var leaf: Leaf
  var root: Root
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.leaf), .init(\.root).onRemoval(.refuse)] }
}

private enum Media: EntityWrapper, Equatable, Sendable {
  case author(Leaf)
  case cover(Item)

  func wrappedEntitiesKeyPaths<Root>(
    relativeTo parent: WritableKeyPath<Root, Self>
  ) -> [PartialIdentifiableKeyPath<Root>] {
    [.init(parent.appending(\.author)).onRemoval(.keepLastValue), .init(parent.appending(\.cover))]
  }

  var author: Leaf? {
    get { if case .author(let author) = self { author } else { nil } }
    set { if let newValue { self = .author(newValue) } }
  }

  var cover: Item? {
    get { if case .cover(let cover) = self { cover } else { nil } }
    set { if let newValue { self = .cover(newValue) } }
  }
}

private struct Post: Aggregate, Equatable {
  let id: Int
  var media: Media
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(wrapper: \.media)] }
}

/// A wrapper of an optional entity, and of a required one.
private enum Opening: EntityWrapper, Equatable, Sendable {
  case quote(Leaf)
  case portrait(Leaf)
  case nothing

  func wrappedEntitiesKeyPaths<Root>(
    relativeTo parent: WritableKeyPath<Root, Self>
  ) -> [PartialIdentifiableKeyPath<Root>] {
    [.init(parent.appending(\.quoted)), .init(parent.appending(\.portrayed))]
  }

  var quoted: Leaf? {
    get { if case .quote(let quoted) = self { quoted } else { nil } }
    set {
      if let newValue { self = .quote(newValue) } else { self = .nothing }
    }
  }

  var portrayed: Leaf? {
    get { if case .portrait(let portrayed) = self { portrayed } else { nil } }
    set { if let newValue { self = .portrait(newValue) } }
  }
}

/// An aggregate with an entity that it keeps before a wrapper.
private struct Essay: Aggregate, Equatable {
  let id: Int
  var author: Leaf
  var opening: Opening
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
    [.init(\.author).onRemoval(.keepLastValue), .init(wrapper: \.opening)]
  }
}

/// Collects the refused removals.
private final class RemovalLog: EntityStore.Logger {
  let refused = Received<String>()

  func didStore<T: Identifiable>(_ type: T.Type, id: T.ID) {}
  func didFailedToStore<T: Identifiable>(_ type: T.Type, id: T.ID, error: any Error) {}
  func didRegisterAlias<T>(_ alias: AliasKey<T>) {}
  func didUnregisterAlias<T>(_ alias: AliasKey<T>) {}

  func didFailToRemove<T: Identifiable>(_ type: T.Type, id: T.ID, error: any Error) {
    if error is RemovalRefusal { refused.append("\(type) \(id)") }
  }
}
