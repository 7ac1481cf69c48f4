import CoherenceIdentityMap
import Foundation
import TestRandom
import Testing

/// Random removals of entities that aggregates give up, keep or refuse to lose, each step held against plain dictionaries.
///
/// `COHERENCE_SEED` repeats a run.
@Suite("Random removals against a model")
struct RemovalPolicyModelTests {
  private static let steps =
    (ProcessInfo.processInfo.environment["COHERENCE_IDENTITY_MAP_OPERATIONS"].flatMap { Int($0) } ?? 40_000) / 10

  @Test(arguments: SeededRandom.seeds)
  func `aggregates have the same values as a model of plain dictionaries`(seed: UInt64) {
    print("COHERENCE_SEED=\(seed)")
    var run = RemovalRun(seed: seed)
    for step in 0..<Self.steps {
      run.step()
      if let fault = run.fault {
        Issue.record("\(fault) after step \(step) of seed \(seed).")
        return
      }
    }
  }
}

private struct RemovalRun {
  private struct Refusal: Error {}

  /// The leaves are named by their identifiers.
  private struct Sheet {
    var title: String
    var author: Int
    var editor: Int?
    var readers: [Int]
  }

  private let store = makeStore()
  private var random: SeededRandom
  private var leaves: [Int: String] = [:]
  /// The values of removed leaves that articles keep.
  private var last: [Int: String] = [:]
  private var sheets: [Int: Sheet] = [:]
  /// A tentative title.
  private var draft: (change: OptimisticChange, article: Int, title: String)?
  private var number = 0
  private(set) var fault: String?

  init(seed: UInt64) {
    random = SeededRandom(seed: seed)
    store.setPolicy(for: Leaf.self) { $0.lifetime = .pinned }
    store.setPolicy(for: Article.self) { $0.lifetime = .pinned }
  }

  private mutating func any(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

  private mutating func leaf() -> Leaf {
    number += 1
    return Leaf(any(6), "\(number)")
  }

  private mutating func article() -> Article {
    number += 1
    var article = Article(id: any(5), title: "\(number)", author: leaf())
    article.editor = any(3) == 0 ? leaf() : nil
    article.readers = (0..<any(3)).map { _ in leaf() }
    return article
  }

  mutating func step() {
    switch any(14) {
    case 0: storeLeaf(leaf())
    case 1..<4: storeArticle(article())
    case 4: updateLeaf(leaf())
    case 5..<7: updateTitle(any(5))
    case 7..<10: removeLeaf(any(6))
    case 10: removeArticle(any(5))
    case 11: removeOptimistically(any(6))
    case 12: toggleDraft()
    default: undo()
    }
    check()
  }

  private func value(_ id: Int) -> Leaf { Leaf(id, leaves[id] ?? last[id]) }

  private mutating func check() {
    for id in 0..<6 where store.find(Leaf.self, id: id)?.value.text != leaves[id] {
      fault = "Leaf \(id) is another one"
    }
    for id in 0..<5 {
      let expected = sheets[id].map { sheet in
        Article(
          id: id, title: draft.flatMap { $0.article == id ? $0.title : nil } ?? sheet.title,
          author: value(sheet.author), editor: sheet.editor.map(value), readers: sheet.readers.map(value))
      }
      let stored = store.find(Article.self, id: id)?.value
      if stored != expected {
        fault = "The article is \(String(describing: stored)) instead of \(String(describing: expected))"
      }
    }
  }

  // MARK: Changes

  private mutating func storeLeaf(_ leaf: Leaf) {
    _ = store.store(entity: leaf)
    leaves[leaf.id] = leaf.text
  }

  private mutating func storeArticle(_ article: Article) {
    _ = store.store(entity: article)
    for leaf in [article.author] + [article.editor].compactMap({ $0 }) + article.readers { leaves[leaf.id] = leaf.text }
    sheets[article.id] = Sheet(
      title: article.title, author: article.author.id, editor: article.editor?.id, readers: article.readers.map(\.id))
  }

  private mutating func updateLeaf(_ leaf: Leaf) {
    let isUpdated = store.update(Leaf.self, id: leaf.id) { $0.text = leaf.text }
    if isUpdated != (leaves[leaf.id] != nil) { fault = "An update found another leaf" }
    if isUpdated { leaves[leaf.id] = leaf.text }
  }

  private mutating func updateTitle(_ id: Int) {
    number += 1
    let title = "title \(number)"
    store.update(Article.self, id: id) { $0.title = title }
    sheets[id]?.title = title
  }

  private mutating func removeLeaf(_ id: Int) {
    let isRefused = leaves[id] != nil && sheets.values.contains { $0.editor == id }
    do {
      let isRemoved = try store.removeOrThrow(Leaf.self, id: id)
      if isRefused || isRemoved != (leaves[id] != nil) { fault = "Another leaf was removed" }
      forget(id)
    } catch {
      if !isRefused { fault = "A removal was refused" }
      let refusing = sheets.filter { $0.value.editor == id }.keys.sorted().map { "Article \($0)" }
      if error.referrers.map(\.description) != refusing { fault = "Others refuse a removal" }
    }
  }

  private mutating func forget(_ id: Int) {
    guard let text = leaves.removeValue(forKey: id) else { return }
    last[id] = text
    for article in sheets.keys { sheets[article]?.readers.removeAll { $0 == id } }
  }

  private mutating func removeArticle(_ id: Int) {
    store.remove(Article.self, id: id)
    sheets[id] = nil
    if draft?.article == id { draft = nil }
  }

  // MARK: Tentative changes

  private mutating func removeOptimistically(_ id: Int) {
    let isRefused = leaves[id] != nil && sheets.values.contains { $0.editor == id }
    var isRemoved = false
    let change = store.optimistically { isRemoved = $0.remove(Leaf.self, id: id) }
    if isRemoved != (leaves[id] != nil && !isRefused) { fault = "Another leaf was removed tentatively" }
    if isRemoved, store.find(Leaf.self, id: id) != nil { fault = "A leaf is there that was removed" }
    switch any(3) {
    case 0: storeArticle(article())
    case 1: updateTitle(any(5))
    default: storeLeaf(Leaf((id + 1) % 6, "meanwhile"))
    }
    guard any(2) == 0 else { return change.rollback() }
    change.commit()
    if isRemoved { forget(id) }
  }

  private mutating func toggleDraft() {
    if let draft {
      let isConfirmed = any(2) == 0
      if isConfirmed { draft.change.commit() } else { draft.change.rollback() }
      if isConfirmed { sheets[draft.article]?.title = draft.title }
      self.draft = nil
      return
    }
    let id = any(5)
    guard sheets[id] != nil else { return }
    number += 1
    let title = "draft \(number)"
    draft = (store.optimistically { $0.update(Article.self, id: id) { $0.title = title } }, id, title)
  }

  private mutating func undo() {
    let (article, doomed, other) = (article(), any(6), any(6))
    try? store.transaction { store throws in
      _ = store.store(entity: article)
      store.remove(Leaf.self, id: doomed)
      let change = store.optimistically { $0.remove(Leaf.self, id: other) }
      change.commit()
      store.update(Article.self, id: article.id) { $0.title = "undone" }
      throw Refusal()
    }
  }
}
