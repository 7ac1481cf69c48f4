import Testing

@testable import CoherenceCore

/// The links of a save after a merge policy has discarded the changes of a record.
@Suite struct DiscardedLinksTests {
  private let model: ManagedObjectModel
  private let spaces: IDSpaces

  init() throws {
    model = try ManagedObjectModel {
      Entity("Shelf") {
        Relationship("books", toMany: "Book", inverse: "shelves")
        Relationship("notes", toMany: "Note", inverse: nil)
        Relationship("alarms", toMany: "Note", inverse: nil)
      }
      Entity("Book") {
        Relationship("shelves", toMany: "Shelf", inverse: "books")
        Relationship("similar", toMany: "Book", inverse: "similar")
      }
      Entity("Note")
    }
    spaces = IDSpaces(store: StoreIdentifier("links"), model: model)
  }

  private func table(_ name: String, of entity: String) throws -> LinkTable {
    let relationship = try #require(try model.entity(named: entity).relationship(named: name))
    guard case .links(let table, _) = relationship.storage else {
      throw CoherenceError(.wrongType, "No table of links.")
    }
    return table
  }

  private func link(_ source: Int64, _ target: Int64) -> Link { Link(source: source, target: target) }

  /// The links of a save, before and after the discard of a record's changes.
  private func changes(
    of table: LinkTable, adding added: [Link], removing removed: [Link] = [],
    discarding key: Int64, of entity: EntityDescription, isDeleted: Bool = false
  ) -> LinkChanges {
    var changes = LinkChanges()
    for link in added { changes.add(link, to: table) }
    for link in removed { changes.remove(link, from: table) }
    changes.discard(linksOf: ManagedObjectID(space: spaces[entity], key: key), entity, isDeleted: isDeleted)
    return changes
  }

  private func added(_ changes: LinkChanges) -> [Link] {
    changes.linkSteps.flatMap { step -> [Link] in if case .link(_, let links) = step { links } else { [] } }
  }

  @Test func `links to and from a record are discarded, those of the other records stay`() throws {
    let books = try table("books", of: "Shelf")
    let (source, target) = (books.forward.entity, books.forward.destination)
    let links = [link(1, 2), link(3, 1), link(3, 2)]
    let ofSource = changes(of: books, adding: links, removing: [link(1, 4), link(5, 1)], discarding: 1, of: source)
    #expect(added(ofSource) == [link(3, 1), link(3, 2)])
    #expect(!ofSource.removes(link(1, 4), from: books))
    #expect(ofSource.removes(link(5, 1), from: books))
    let ofTarget = changes(of: books, adding: links, removing: [link(1, 4), link(5, 1)], discarding: 1, of: target)
    #expect(added(ofTarget) == [link(1, 2), link(3, 2)])
    #expect(ofTarget.removes(link(1, 4), from: books))
    #expect(!ofTarget.removes(link(5, 1), from: books))
  }

  @Test func `a link to a record that does not know it stays, unless the record is deleted`() throws {
    let notes = try table("notes", of: "Shelf")
    let note = notes.forward.destination
    #expect(added(changes(of: notes, adding: [link(1, 2)], discarding: 2, of: note)) == [link(1, 2)])
    #expect(added(changes(of: notes, adding: [link(1, 2)], discarding: 2, of: note, isDeleted: true)) == [])
    #expect(added(changes(of: notes, adding: [link(1, 2)], discarding: 1, of: notes.forward.entity)) == [])
  }

  @Test func `links of a relationship with itself as the inverse are discarded in both directions`() throws {
    let similar = try table("similar", of: "Book")
    let links = [link(1, 2), link(2, 1), link(3, 4)]
    #expect(added(changes(of: similar, adding: links, discarding: 1, of: similar.forward.entity)) == [link(3, 4)])
  }

  @Test func `the owner of discarded links has no changed relationship any more`() throws {
    let books = try #require(try model.entity(named: "Shelf").relationship(named: "books"))
    let ids = (1...2).map { ManagedObjectID(space: spaces[books.entity], key: $0) }
    var changes = LinkChanges()
    for id in ids { changes.note(books, of: id) }
    changes.discard(linksOf: ids[0], books.entity, isDeleted: false)
    #expect(changes.owners == [ids[1]: [books]])
  }

  @Test func `the steps are in the order of the tables' names and of the links, without tables that lost all links`()
    throws
  {
    let tables = try ["books", "notes", "alarms"].map { try table($0, of: "Shelf") }.sorted { $0.name < $1.name }
    var changes = LinkChanges()
    #expect(changes.isEmpty)
    for table in tables.reversed() {
      for link in [link(2, 1), link(1, 2), link(1, 1)] {
        changes.add(link, to: table)
        changes.remove(Link(source: link.source, target: link.target + 10), from: table)
      }
    }
    #expect(!changes.isEmpty)
    let linked = changes.linkSteps.compactMap { step -> (LinkTable, [Link])? in
      if case .link(let table, let links) = step { (table, links) } else { nil }
    }
    #expect(linked.map(\.0.name) == tables.map(\.name))
    #expect(linked.allSatisfy { $0.1 == [link(1, 1), link(1, 2), link(2, 1)] })
    let unlinked = changes.unlinkSteps.compactMap { step -> (LinkTable, [Link])? in
      if case .unlink(let table, let links) = step { (table, links) } else { nil }
    }
    #expect(unlinked.map(\.0.name) == tables.map(\.name))
    #expect(unlinked.allSatisfy { $0.1 == [link(1, 11), link(1, 12), link(2, 11)] })
    let source = tables[0].forward.entity
    for key in [1, 2] as [Int64] {
      changes.discard(linksOf: ManagedObjectID(space: spaces[source], key: key), source, isDeleted: false)
    }
    #expect(changes.linkSteps.count == 2)
    #expect(changes.unlinkSteps.count == 2)
  }
}
