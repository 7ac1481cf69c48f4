/// Two folders of a module, in the order of the alphabet.
struct FolderPair: Hashable, CustomStringConvertible {
  let module: String
  let first: String
  let second: String

  init(_ module: String, _ one: String, _ other: String) {
    self.module = module
    first = min(one, other)
    second = max(one, other)
  }

  var description: String { "FolderPair(\"\(module)\", \"\(first)\", \"\(second)\")," }
}

/// The uses between the folders directly in a module.
struct FolderGraph {
  /// A use of another folder: a file, and a type of the other folder in it.
  struct Use {
    let path: String
    let type: Substring
  }

  /// The names of all folders.
  let folders: Set<String>
  /// The uses of folders by folders: the user first, the used folder second.
  let uses: [String: [String: [Use]]]

  /// The graph of a module; a file directly in the module is in the folder ".".
  init(module: String, files: [SourceFile]) {
    let files = files.map { FolderFile($0, in: module) }
    let homes = Dictionary(
      files.flatMap { file in file.types.map { ($0, file.folder) } }, uniquingKeysWith: { first, _ in first })
    var uses: [String: [String: [Use]]] = [:]
    for file in files {
      for name in file.names.subtracting(file.ownNames) {
        guard let home = homes[name], home != file.folder else { continue }
        uses[file.folder, default: [:]][home, default: []].append(Use(path: file.path, type: name))
      }
    }
    self.uses = uses
    folders = Set(files.map(\.folder))
  }

  /// The folders that a folder uses.
  func used(by folder: String) -> Set<String> { Set(uses[folder, default: [:]].keys) }

  /// The pairs of folders that use each other.
  func mutualPairs(of module: String) -> Set<FolderPair> {
    Set(
      folders.flatMap { one in used(by: one).filter { used(by: $0).contains(one) }.map { FolderPair(module, one, $0) } }
    )
  }

  /// The folders in cycles: they have no position in an order in which each folder uses only earlier folders.
  ///
  /// - Parameter pairs: Pairs of folders whose uses of each other do not count.
  func unorderedFolders(of module: String, besides pairs: Set<FolderPair>) -> Set<String> {
    var rest = folders
    while true {
      let next = rest.filter { folder in
        used(by: folder).contains { rest.contains($0) && !pairs.contains(FolderPair(module, folder, $0)) }
      }
      if next.count == rest.count { return rest }
      rest = next
    }
  }
}

/// The types that a file declares and names.
private struct FolderFile {
  let path: String
  let folder: String
  /// The types that other files can see: declared at the top level, and not private.
  private(set) var types: Set<Substring> = []
  /// The names of nested and private types, which have another meaning in this file than outside.
  private(set) var ownNames: Set<Substring> = []
  /// Every word of the code except names after a dot.
  private(set) var names: Set<Substring> = []

  init(_ file: SourceFile, in module: String) {
    path = file.path
    let parts = file.path.dropFirst(module.count + 1).split(separator: "/")
    folder = parts.count > 1 ? String(parts[0]) : "."
    read(CodeToken.tokens(of: file.code))
  }

  private mutating func read(_ tokens: [CodeToken]) {
    var depth = 0
    for (index, token) in tokens.enumerated() {
      let isMember = index > 0 && tokens[index - 1].text == "."
      switch token.text {
      case "{": depth += 1
      case "}": depth -= 1
      case _ where isMember: break
      case let word where Self.declarators.contains(word): declare(after: index, in: tokens, depth: depth)
      default: names.insert(token.text)
      }
    }
  }

  private mutating func declare(after index: Int, in tokens: [CodeToken], depth: Int) {
    guard index + 1 < tokens.count, let initial = tokens[index + 1].text.first, initial.isUppercase else { return }
    let words = tokens[..<index].reversed().prefix { $0.line == tokens[index].line }.map(\.text)
    let isPrivate = words.contains("private") || words.contains("fileprivate")
    if depth == 0 && !isPrivate {
      types.insert(tokens[index + 1].text)
    } else {
      ownNames.insert(tokens[index + 1].text)
    }
  }

  private static let declarators: Set<Substring> = ["class", "struct", "enum", "protocol", "actor", "typealias"]
}
