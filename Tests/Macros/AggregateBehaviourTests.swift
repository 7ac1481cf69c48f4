import CoherenceMacros
import Testing

@Suite("Aggregates made by macros")
struct AggregateBehaviourTests {
  private let store = EntityStore(delivery: .immediate)
  private let old = Author(id: 1, name: "old")
  private let new = Author(id: 1, name: "new")

  /// The current value of a post after its author has changed.
  private func followed(_ change: (inout Post) -> Void) -> Post {
    var post = Post(id: 1, author: Author(id: 9, name: "other"))
    change(&post)
    let held = store.store(entity: post)
    store.update(Author.self, id: 1) { $0 = new }
    return held.current
  }

  @Test func `the macro finds single and optional entities`() {
    #expect(followed { $0.author = old }.author == new)
    #expect(followed { $0.reviewer = old }.reviewer == new)
    #expect(followed { _ in }.reviewer == nil)
  }

  @Test func `collections of entities are followed`() {
    #expect(followed { $0.readers = [old, Author(id: 2, name: "b")] }.readers == [new, Author(id: 2, name: "b")])
    #expect(followed { $0.drafts = [nil, old] }.drafts == [nil, new])
    #expect(followed { $0.columns = [[], [old, old]] }.columns == [[], [new, new]])
    #expect(followed { $0.byRole = ["editor": old] }.byRole == ["editor": new])
    #expect(followed { $0.byTeam = ["a": [old], "b": []] }.byTeam == ["a": [new], "b": []])
  }

  @Test func `sets of entities are followed`() {
    let held = store.store(entity: Post(id: 1, author: old, tags: [Tag(id: "a"), Tag(id: "b")]))
    store.update(Tag.self, id: "a") { $0.color = "red" }
    #expect(held.current.tags == [Tag(id: "a", color: "red"), Tag(id: "b")])
  }

  @Test func `entities in the cases of an enum are followed`() {
    let other = Author(id: 2, name: "b")
    #expect(followed { $0.media = .portrait(old) }.media == .portrait(new))
    #expect(
      followed { $0.media = .interview(with: other, by: old, minutes: 5) }.media
        == .interview(with: other, by: new, minutes: 5))
    #expect(followed { $0.media = .credited(old) }.media == .credited(new))
    #expect(followed { $0.media = .credited(nil) }.media == .credited(nil))
    #expect(followed { $0.cover = .portrait(old) }.cover == .portrait(new))
    #expect(followed { $0.gallery = [.nothing, .portrait(old)] }.gallery == [.nothing, .portrait(new)])
    #expect(followed { $0.media = .link("coherence") }.media == .link("coherence"))
  }

  @Test func `entities in a dictionary and in nested collections in a case are followed`() {
    #expect(followed { $0.media = .byRole(["editor": old]) }.media == .byRole(["editor": new]))
    #expect(followed { $0.media = .byTeam(["a": [old], "b": []]) }.media == .byTeam(["a": [new], "b": []]))
    #expect(followed { $0.media = .byTeam(nil) }.media == .byTeam(nil))
    #expect(followed { $0.media = .drafts([nil, old]) }.media == .drafts([nil, new]))
    #expect(followed { $0.media = .columns([[], [old, old]]) }.media == .columns([[], [new, new]]))
  }

  @Test func `entities in a collection in a case are followed`() {
    let held = store.store(entity: Post(id: 1, author: old, media: .tags([Tag(id: "a"), Tag(id: "b")])))
    store.update(Tag.self, id: "b") { $0.color = "red" }
    #expect(held.current.media == .tags([Tag(id: "a"), Tag(id: "b", color: "red")]))
  }

  @Test func `entities in a structure without an identity are followed`() {
    #expect(followed { $0.page = Page(number: 3, authors: [old]) }.page == Page(number: 3, authors: [new]))
  }

  @Test func `a property marked as not nested keeps its stored value`() {
    #expect(followed { $0.firstAuthor = old }.firstAuthor == old)
    #expect(store.count(of: Author.self) == 0, "The author was never stored.")
  }

  @Test func `aggregates in aggregates are followed to the bottom`() {
    let thread = store.store(entity: Thread(id: 1, posts: [Post(id: 1, author: old), Post(id: 2, author: old)]))
    store.update(Author.self, id: 1) { $0.name = "new" }
    #expect(thread.current.posts.map(\.author) == [new, new])
  }

  @Test func `aggregates with a parameter are followed`() {
    let box = store.store(entity: Box(id: 1, content: old))
    store.update(Author.self, id: 1) { $0.name = "new" }
    #expect(box.current.content == new)
  }

  @Test func `a removed entity leaves every optional place`() {
    let held = store.store(
      entity: Post(
        id: 1, author: Author(id: 9, name: "other"), reviewer: old, readers: [old], drafts: [old, nil],
        columns: [[old], []], byRole: ["a": old, "b": Author(id: 2, name: "b")], byTeam: ["a": [old]],
        media: .credited(old), cover: .portrait(old), gallery: [.portrait(old), .nothing]))
    store.remove(Author.self, id: 1)
    let rest = Post(
      id: 1, author: Author(id: 9, name: "other"), drafts: [nil, nil], columns: [[], []],
      byRole: ["b": Author(id: 2, name: "b")], byTeam: ["a": []], media: .credited(nil), gallery: [.nothing])
    #expect(held.current == rest)
  }

  @Test func `the key paths are computed once for all values`() {
    let (first, second) = (Post(id: 1, author: old), Post(id: 2, author: old))
    let keyPaths = (first.nestedEntitiesKeyPaths, second.nestedEntitiesKeyPaths)
    #expect(keyPaths.0.count == 12 && keyPaths.0.count == keyPaths.1.count)
  }
}
