/// The identifiers of a list of objects at one moment.
protocol IdentifierSource {
  var count: Int { get }
  /// - Precondition: The list has the index.
  func id(at index: Int) -> ManagedObjectID
  /// The index of a record; `nil` for a record outside of the list.
  func index(of id: ManagedObjectID) -> Int?
}

extension IdentifierList: IdentifierSource {
  func id(at index: Int) -> ManagedObjectID { self[index] }
  func index(of id: ManagedObjectID) -> Int? { firstIndex(of: id) }
}
