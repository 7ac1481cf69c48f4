import Foundation

/// The entries of a file's user info for features of models that the editor of Xcode has no field for.
///
/// The built model does not show the entries.
package enum FileSetting {
  /// `codable`, `enumeration` or `weakReference`, for attributes.
  package static let type = "coherence.type"
  /// The raw values of an enumeration as a JSON array.
  package static let cases = "coherence.cases"
  /// The name of the entity that a weak reference leads to.
  package static let entity = "coherence.entity"
  /// The default of an attribute of data, in base 64.
  package static let data = "coherence.default"
  /// Further former names, separated by commas, the latest first. Spaces around a name do not count. For a part of a
  /// composite, `width` is a name in the same composite, `box.width` a whole name, and `.width` the name of an
  /// attribute that was no part of a composite.
  package static let formerNames = "coherence.formerNames"

  private static let all: Set<String> = [type, cases, entity, data, formerNames]

  /// The entries of the application.
  package static func withoutSettings(_ userInfo: [String: String]) -> [String: String] {
    userInfo.filter { !all.contains($0.key) }
  }

  /// The former names of a part: its renaming identifier and the names of the setting.
  package static func formerNames(_ identifier: String?, _ userInfo: [String: String]) -> [String] {
    let others = userInfo[formerNames]?.split(separator: ",") ?? []
    // A person who types the list in an editor puts a space behind each comma.
    let names = others.map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
    return [identifier].compactMap(\.self) + names.filter { !$0.isEmpty }
  }
}
