// The check of the names of options during the opening of a store.

extension StoreEnvironment {
  /// Throws for an option whose name is almost that of a known option. A store opened without the option that the user
  /// meant, such as `readOnly`, could change what the user wants to keep.
  ///
  /// Other unknown names belong to stores of other types, so that a configuration can change its type.
  ///
  /// - Parameter names: The names of the store's own options.
  /// - Throws: ``ErrorCode/invalidOption``, with the similar name of a known option.
  package func checkOptionNames(besides names: [String]) throws(CoherenceError) {
    let knownNames = StoreOption.all + names
    for name in options.keys.sorted() where !knownNames.contains(name) {
      guard let meant = knownNames.first(where: { $0.isAlmost(name) }) else { continue }
      throw CoherenceError(
        .invalidOption, "A \(type.name) store has no option '\(name)'; write '\(meant)', or remove the option.")
    }
  }
}

extension String {
  /// Whether two names are equal but for case, `_`, `-` and at most two letters, of at least six.
  fileprivate func isAlmost(_ other: String) -> Bool {
    func letters(_ name: String) -> [Character] { name.lowercased().filter { $0 != "_" && $0 != "-" } }
    let (own, others) = (letters(self), letters(other))
    return own == others || min(own.count, others.count) >= 6 && own.distance(to: others) <= 2
  }
}

extension [Character] {
  /// The number of insertions, deletions and replacements that lead to another list, by the algorithm of Wagner and
  /// Fischer.
  fileprivate func distance(to other: [Character]) -> Int {
    var row = Array<Int>(0...other.count)
    for (index, character) in enumerated() {
      var diagonal = row[0]
      row[0] = index + 1
      for column in other.indices {
        let replaced = diagonal + (character == other[column] ? 0 : 1)
        diagonal = row[column + 1]
        row[column + 1] = Swift.min(replaced, row[column] + 1, diagonal + 1)
      }
    }
    return row[other.count]
  }
}
