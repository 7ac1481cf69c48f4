extension Array {
  /// The elements by entity, the entities in the order of their first elements. Mostly neighbours have one entity, whose
  /// name would take longer to hash for each element than the comparison of two entities.
  func grouped(
    by entity: (Element) -> EntityDescription
  ) -> [(entity: EntityDescription, elements: [Element])] {
    var groups: [(entity: EntityDescription, elements: [Element])] = []
    var indices: [ObjectIdentifier: Int] = [:]
    var start = startIndex
    while start < endIndex {
      let first = entity(self[start])
      let end = self[(start + 1)...].firstIndex { entity($0) !== first } ?? endIndex
      if start == startIndex, end == endIndex { return [(first, self)] }
      if let index = indices[ObjectIdentifier(first)] {
        groups[index].elements += self[start..<end]
      } else {
        indices[ObjectIdentifier(first)] = groups.count
        groups.append((first, Array(self[start..<end])))
      }
      start = end
    }
    return groups
  }
}
