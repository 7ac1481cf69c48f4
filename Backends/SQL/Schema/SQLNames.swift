/// Allocates valid names for an engine: not too long, not reserved, and distinct from earlier names.
package struct SQLNames {
  private let dialect: any SQLDialect
  private var taken: Set<String> = []

  package init(dialect: any SQLDialect) { self.dialect = dialect }

  /// Marks a name as used.
  package mutating func reserve(_ name: String) { taken.insert(dialect.identity(ofName: name)) }

  /// The first free candidate; failing that, the first candidate shortened and marked with a digest of `key`.
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
      attempt += "'"
    }
  }

  private func isFree(_ name: String) -> Bool {
    name.utf8.count <= dialect.maximumNameBytes && !dialect.isReserved(name)
      && !taken.contains(dialect.identity(ofName: name))
  }

  /// The beginning of a name, whole characters of it, with room for a digest.
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
