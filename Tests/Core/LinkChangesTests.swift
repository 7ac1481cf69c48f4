import Testing

@testable import CoherenceCore

/// The links that both sides of an ordered relationship change in one save.
@Suite struct LinkChangesTests {
  private let table: LinkTable

  init() throws {
    let model = try ManagedObjectModel {
      Entity("Shelf") { Relationship("books", toMany: "Book", inverse: "shelves", ordered: true) }
      Entity("Book") { Relationship("shelves", toMany: "Shelf", inverse: "books", ordered: true) }
    }
    let books = try #require(try model.entity(named: "Shelf").relationship(named: "books"))
    guard case .links(let table, _) = books.storage else { throw CoherenceError(.wrongType, "No table of links.") }
    self.table = table
  }

  private func added(_ links: Link...) -> Link? {
    var changes = LinkChanges()
    for link in links { changes.add(link, to: table) }
    return changes.added[table]?.values.first
  }

  @Test func `a link that both sides add has the position of each side, in either order`() {
    let source = Link(source: 1, target: 2, sourcePosition: 3)
    let target = Link(source: 1, target: 2, targetPosition: 4)
    let both = Link(source: 1, target: 2, sourcePosition: 3, targetPosition: 4)
    #expect(added(source, target) == both)
    #expect(added(target, source) == both)
  }

  @Test func `adding a link twice keeps the later positions`() {
    let first = Link(source: 1, target: 2, sourcePosition: 3, targetPosition: 4)
    let second = Link(source: 1, target: 2, sourcePosition: 5, targetPosition: 6)
    #expect(added(first, second) == second)
  }
}
