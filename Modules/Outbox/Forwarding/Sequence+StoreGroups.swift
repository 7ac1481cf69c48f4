import CoherenceCore

extension Sequence {
  /// The elements of each store, in the order of the stores' first elements.
  ///
  /// A save over several stores is atomic in each of them alone. Claims and settlements are therefore saved for each
  /// store by itself: otherwise one store could commit although another store refuses, and the forwarder would take all
  /// of them for failed.
  ///
  /// - Parameter id: Returns the identifier of an element's record.
  func grouped(byStoreOf id: (Element) -> ManagedObjectID) -> [[Element]] {
    var groups: [[Element]] = []
    var indices: [StoreIdentifier?: Int] = [:]
    for element in self {
      let store = id(element).storeIdentifier
      if let index = indices[store] {
        groups[index].append(element)
      } else {
        indices[store] = groups.count
        groups.append([element])
      }
    }
    return groups
  }
}
