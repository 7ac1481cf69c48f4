import CoherenceIdentityMap
import Testing

@Suite("The text of inspections")
struct InspectionTests {
  private let store = makeStore()

  @Test func `the text of an inspection has a line for each entity and each alias`() {
    let root = store.store(entity: Root(id: 1, leaf: Leaf(2)), named: .main, modifiedAt: 3)
    let subscription = root.observe { _ in }
    let lines = store.inspect().description.split(separator: "\n").map(String.init)
    #expect(lines.count == 4)
    #expect(lines.first == "2 entities, 1 aliases" && lines.last == "alias main of Root")
    #expect(lines.dropFirst().first?.hasPrefix("Leaf 2: in Root 1") == true)
    let line = lines.dropFirst(2).first ?? ""
    #expect(line.hasPrefix("Root 1: ") && line.hasSuffix(" handles in alias main of Root 1 observers stamp 3.0"))
    withExtendedLifetime(subscription) {}
  }

  @Test func `an alias without content is not listed`() {
    let alias = store.find(named: .all)
    #expect(store.inspect().aliases.isEmpty)
    _ = store.store(entities: [Leaf(1)], named: .all)
    #expect(store.inspect().aliases == ["alias all of Array<Leaf>"])
    store.removeAlias(named: .all)
    #expect(store.inspect().aliases.isEmpty && alias.current == nil)
  }
}
