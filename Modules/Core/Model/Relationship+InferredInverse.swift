extension Relationship {
  /// A relationship to at most one object, whose inverse the model finds; see ``infersInverse``.
  public init(
    _ name: String, toOne destination: String, optional: Bool = true, deleteRule: DeleteRule = .nullify,
    renamingIdentifier: String? = nil, formerNames: [String] = [], userInfo: [String: String] = [:]
  ) {
    self.init(
      name, toOne: destination, inverse: nil, optional: optional, deleteRule: deleteRule,
      renamingIdentifier: renamingIdentifier, formerNames: formerNames, userInfo: userInfo)
    infersInverse = true
  }

  /// A relationship to any number of objects, whose inverse the model finds; see ``infersInverse``.
  public init(
    _ name: String, toMany destination: String, ordered: Bool = false, minimumCount: Int = 0,
    maximumCount: Int? = nil, deleteRule: DeleteRule = .nullify, renamingIdentifier: String? = nil,
    formerNames: [String] = [], userInfo: [String: String] = [:]
  ) {
    self.init(
      name, toMany: destination, inverse: nil, ordered: ordered, minimumCount: minimumCount,
      maximumCount: maximumCount, deleteRule: deleteRule, renamingIdentifier: renamingIdentifier,
      formerNames: formerNames, userInfo: userInfo)
    infersInverse = true
  }
}
