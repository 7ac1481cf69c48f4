import CoherenceIdentityMap
import Testing

/// The logger receives the end of an alias's content, whichever operation ends it.
@Suite("The log of aliases that lose their content")
struct AliasLogTests {
  private struct Refusal: Error {}

  private let log = Log()
  private let store: EntityStore

  init() {
    store = makeStore(logger: log)
    store.store(Leaf(1), named: .chosen)
    store.store([Leaf(1), Leaf(2)], named: .all)
  }

  private var losses: [String] { log.lines.filter { $0.hasPrefix("no alias") }.sorted() }

  @Test func `the removal of an alias is logged once, and the removal of an alias without content is not`() {
    store.removeAlias(named: AliasKey<Leaf>.chosen)
    #expect(losses == ["no alias chosen"])
    let awaited = store.find(named: AliasKey<Leaf>("awaited"))
    store.removeAlias(named: AliasKey<Leaf>("awaited"))
    store.removeAlias(named: AliasKey<Leaf>("unknown"))
    store.removeAlias(named: AliasKey<Leaf>.chosen)
    #expect(awaited.value == nil && losses == ["no alias chosen"])
  }

  @Test func `the removal of all aliases is logged for each alias with content`() {
    store.removeAllAlias()
    store.removeAllAlias()
    #expect(losses == ["no alias all", "no alias chosen"])
  }

  @Test func `clearing a store is logged for each alias with content`() {
    store.removeAlias(named: AliasKey<[Leaf]>.all)
    store.clear()
    #expect(losses == ["no alias all", "no alias chosen"])
  }

  @Test func `removing all entities of a store is logged for each alias with content`() {
    store.removeAll()
    #expect(losses == ["no alias all", "no alias chosen"])
  }

  @Test func `an alias that loses its entity is logged, and a list that becomes empty keeps its alias`() {
    store.remove(Leaf.self, id: 1)
    store.remove(Leaf.self, id: 2)
    #expect(losses == ["no alias chosen"])
    #expect(store.find(named: AliasKey<[Leaf]>.all).value == [])
  }

  @Test func `an alias that an optimistic change ends is logged once, also if the alias is removed afterwards`() {
    let change = store.optimistically { $0.removeAlias(named: AliasKey<Leaf>.chosen) }
    #expect(losses == ["no alias chosen"])
    store.removeAlias(named: AliasKey<Leaf>.chosen)
    change.commit()
    #expect(losses == ["no alias chosen"])
  }

  @Test func `a loss of content that a transaction rolls back is not logged`() {
    try? store.transaction { store in
      store.removeAllAlias()
      store.remove(Leaf.self, id: 1)
      throw Refusal()
    }
    #expect(losses.isEmpty && store.find(named: AliasKey<Leaf>.chosen).value == Leaf(1))
  }
}
