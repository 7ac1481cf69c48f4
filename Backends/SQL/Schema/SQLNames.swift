/// Allocates valid names for an engine: not too long, not reserved, and distinct from earlier names.
package struct SQLNames {
  private let dialect: any SQLDialect
  private var taken: Set<String> = []

  package init(dialect: any SQLDialect) { self.dialect = dialect }

  /// Marks a name as used.
  package mutating func reserve(_ name: String) { taken.insert(dialect.identity(ofName: name)) }

  /// Reserves a name: the first free candidate; without a free candidate, the beginning of the first candidate with a
  /// digest.
  ///
  /// - Parameter key: The text of which the digest is made. It is unique among the names, and the same whenever
  ///   programs derive the names from equal models, so that all of them get the same name.
  package mutating func allocate(_ candidates: [String], key: String) -> String {
    if let name = candidates.first(where: isFree) {
      reserve(name)
      return name
    }
    var attempt = key
    while true {
      let name = shortened(candidates[0]) + "~" + Self.digest(attempt)
      if isFree(name) {
        reserve(name)
        return name
      }
      // An earlier name has the same beginning and the same digest.
      attempt += "'"
    }
  }

  private func isFree(_ name: String) -> Bool {
    name.utf8.count <= dialect.maximumNameBytes && !dialect.isReserved(name)
      && !taken.contains(dialect.identity(ofName: name))
  }

  /// The beginning of a name, without a part of a character, and with room for `~` and a digest.
  private func shortened(_ name: String) -> String {
    let prefix = dialect.isReserved(name) ? "_" + name : name
    var result = ""
    for character in prefix {
      guard result.utf8.count + character.utf8.count <= dialect.maximumNameBytes - 9 else { break }
      result.append(character)
    }
    return result
  }

  /// Eight hexadecimal digits of 32-bit FNV-1a: the same on every platform.
  private static func digest(_ text: String) -> String {
    var hash: UInt32 = 0x811C_9DC5
    for byte in text.utf8 { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }
}
