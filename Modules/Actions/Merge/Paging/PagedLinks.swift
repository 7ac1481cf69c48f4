import CoherenceCore

/// The records of successive pages, and the pages that their links are from. A link that contradicts a link of a later
/// page gives way to it, as when the pages are merged one after the other: the service has changed the relationship
/// between two requests. Links of one page may contradict each other; see ``LinkConsistency``.
struct PagedLinks {
  private(set) var records: [MergeRecord]
  /// For each record, the number of the page that its link is from, by the name of the relationship.
  private let pages: [[String: Int]]
  private let layout: MergeLayout
  private let keys: [MergeKey]
  /// The record that the merge uses, by key.
  private let indexes: [MergeKey: Int]

  /// The link of one record.
  private struct PagedLink {
    let index: Int
    let page: Int
    let members: [MergeKey]
  }

  init(
    _ records: [MergeRecord], from pages: [[String: Int]], _ layout: MergeLayout,
    _ duplicates: MergeOptions.DuplicatePolicy
  ) throws {
    self.records = records
    self.pages = pages
    self.layout = layout
    keys = try records.keys(layout)
    indexes = Dictionary(
      zip(keys, records.indices).filter { !$0.0.isIncomplete },
      uniquingKeysWith: { duplicates == .lastWins ? $1 : $0 })
  }

  /// Changes the links that links of later pages contradict. The cost grows with the number of links.
  ///
  /// - Throws: ``ErrorCode/invalidMergeKey`` for a key that does not fit its destination; ``ErrorCode/wrongType`` and
  ///   ``ErrorCode/unknownProperty`` for a link that does not fit its relationship.
  mutating func resolve() throws {
    let relationships = layout.relationships.filter { !layout.ignores($0) }
    for relationship in relationships where relationship.inverse?.isToMany == false {
      try removeTakenMembers(of: relationship)
    }
    for relationship in relationships {
      guard let inverse = relationship.inverse, relationships.contains(where: { $0 === inverse }) else { continue }
      try agree(relationship, with: inverse)
    }
  }

  /// Removes the links to destinations that can have one record only, and to which a record of a later page links.
  private mutating func removeTakenMembers(of relationship: RelationshipDescription) throws {
    let links = try links(of: relationship)
    guard let first = links.first, links.contains(where: { $0.page != first.page }) else { return }
    var lastPages: [MergeKey: Int] = [:]
    for link in links { for member in link.members { lastPages[member] = max(lastPages[member] ?? 0, link.page) } }
    for link in links {
      let members = link.members.filter { lastPages[$0] == link.page }
      if members.count < link.members.count { set(members, of: relationship, link.index) }
    }
  }

  /// Changes one side of each link whose other side is from another page and does not lead back.
  private mutating func agree(
    _ relationship: RelationshipDescription, with inverse: RelationshipDescription
  ) throws {
    let links = try links(of: relationship)
    let inverseLinks = try links.isEmpty ? [] : self.links(of: inverse)
    guard !inverseLinks.isEmpty, try MergeDestination(of: relationship).mayBeInput(of: layout) else { return }
    let inversePages = Dictionary(inverseLinks.map { ($0.index, $0.page) }) { first, _ in first }
    var inverseMembers = Dictionary(inverseLinks.map { ($0.index, Set($0.members)) }) { first, _ in first }
    var added: [Int: [MergeKey]] = [:]
    for link in links where !keys[link.index].isIncomplete {
      let owner = keys[link.index]
      var removed: Set<MergeKey> = []
      for member in link.members {
        guard let index = indexes[member], let page = inversePages[index], page != link.page,
          inverseMembers[index]?.contains(owner) == false
        else { continue }
        if page > link.page {
          removed.insert(member)
        } else {
          added[index, default: []].append(owner)
          inverseMembers[index]?.insert(owner)
        }
      }
      if !removed.isEmpty { set(link.members.filter { !removed.contains($0) }, of: relationship, link.index) }
    }
    guard !added.isEmpty else { return }
    for link in try self.links(of: inverse) {
      guard let owners = added[link.index] else { continue }
      set(inverse.isToMany ? link.members + owners : owners, of: inverse, link.index)
    }
  }

  /// The links of a relationship, of the records that the merge uses.
  private func links(of relationship: RelationshipDescription) throws -> [PagedLink] {
    let input = RecordInput(records, layout: layout)
    var destination: MergeDestination?
    var links: [PagedLink] = []
    for (index, key) in keys.enumerated() where key.isIncomplete || indexes[key] == index {
      guard let page = pages[index][relationship.name] else { continue }
      for (other, link) in try input.links(index) where other === relationship {
        let found = try destination ?? MergeDestination(of: relationship)
        destination = found
        links.append(PagedLink(index: index, page: page, members: try link.keys.map { try found.checked($0) }))
      }
    }
    return links
  }

  private mutating func set(_ members: [MergeKey], of relationship: RelationshipDescription, _ index: Int) {
    let link: MergeLink =
      if relationship.isToMany { .many(members) } else if let member = members.last { .one(member) } else { .none }
    records[index].links[relationship.name] = link
    records[index].values[relationship.name] = nil
  }
}
