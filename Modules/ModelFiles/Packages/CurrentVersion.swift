import CoherenceCore
import Foundation

/// The property list with the name of a package's current version.
enum CurrentVersion {
  static let file = ".xccurrentversion"
  private static let key = "_XCCurrentVersionName"

  /// The name of the version, without the extension; `nil` without the file.
  static func name(in package: URL) throws -> String? {
    let url = package.appendingPathComponent(file)
    guard FileManager.default.fileExists(atPath: url.path) else { return nil }
    let data = try PackageFiles.data(at: url)
    do throws(XMLFault) {
      let root = try XMLTreeParser.parse(data, path: url.path, isPropertyList: true)
      let entries = root.children.first { $0.name == "dict" }?.children ?? []
      guard root.name == "plist",
        let index = entries.firstIndex(where: { $0.name == "key" && trimmed($0.text) == key }),
        index + 1 < entries.count, entries[index + 1].name == "string", !trimmed(entries[index + 1].text).isEmpty
      else {
        throw XMLFault("the property list has no text for the key '\(key)'", path: url.path)
      }
      let name = trimmed(entries[index + 1].text)
      return name.hasSuffix(".xcdatamodel") ? String(name.dropLast(".xcdatamodel".count)) : name
    } catch {
      throw error.error
    }
  }

  private static func trimmed(_ text: String) -> String { text.trimmingCharacters(in: .whitespacesAndNewlines) }

  /// The text of the file for a version.
  static func text(_ version: String) -> String {
    var list = XMLText()
    list.element("plist", [("version", "1.0")]) { text in
      text.element("dict", []) { text in
        text.element("key", [], text: key)
        text.element("string", [], text: "\(version).xcdatamodel")
      }
    }
    return list.text
  }
}
