import Synchronization
import Testing

@Suite("Directions between folders")
struct FolderDirectionTests {
  private let repository = Repository()

  /// The graphs of modules, which several tests look at.
  private static let graphs = Mutex<[String: FolderGraph]>([:])

  private func graph(of module: String) throws -> FolderGraph {
    try Self.graphs.withLock { graphs in
      if let graph = graphs[module] { return graph }
      let graph = FolderGraph(module: module, files: try repository.sources(in: module))
      graphs[module] = graph
      return graph
    }
  }

  @Test(arguments: FolderTable.allowed.keys.sorted())
  func `folders of a module use each other according to the table`(module: String) throws {
    let graph = try graph(of: module)
    let allowed = FolderTable.allowed[module, default: [:]]
    for folder in graph.folders.sorted() where graph.used(by: folder) != allowed[folder] {
      let used = graph.used(by: folder)
      let entry = "\"\(folder)\": [\(used.sorted().map { "\"\($0)\"" }.joined(separator: ", "))],"
      let new = used.subtracting(allowed[folder, default: []]).sorted()
      let reasons = new.flatMap { graph.uses[folder, default: [:]][$0, default: []] }
        .map { "\($0.path) uses \($0.type)" }.sorted()
      Issue.record("Change the sources, or the entry of \(module) to: \(entry) \(reasons.joined(separator: "; "))")
    }
    #expect(Set(allowed.keys).subtracting(graph.folders) == [], "These folders of \(module) are no more.")
  }

  @Test(arguments: FolderTable.allowed.keys.sorted())
  func `two folders use each other only when the table lists the pair`(module: String) throws {
    let pairs = try graph(of: module).mutualPairs(of: module)
    let inherent = Set(FolderTable.inherentPairs.keys.filter { $0.module == module })
    let undivided = FolderTable.undividedPairs.filter { $0.module == module }
    let new = pairs.subtracting(inherent).subtracting(undivided)
    #expect(new.isEmpty, "Let one of the folders do without the other: \(new)")
    let divided = inherent.union(undivided).subtracting(pairs)
    #expect(divided.isEmpty, "Remove these pairs from the table: \(divided)")
    #expect(inherent.isDisjoint(with: undivided))
  }

  @Test(arguments: FolderTable.allowed.keys.sorted())
  func `besides the pairs of the table, folders have an order in which each uses earlier ones`(module: String) throws {
    let pairs = FolderTable.undividedPairs.union(FolderTable.inherentPairs.keys)
    let unordered = try graph(of: module).unorderedFolders(of: module, besides: pairs)
    #expect(unordered == [], "Some of these folders use each other in a circle.")
  }

  @Test func `every module with folders is in the table`() throws {
    for parent in ["Modules", "Backends"] {
      for module in try repository.folders(in: parent).map({ "\(parent)/\($0)" }) {
        let folders = try graph(of: module).folders
        // The plugin of the macros is a target of its own.
        guard folders.count > 1, !["Modules/Macros", "Modules/ModelMacros"].contains(module) else { continue }
        #expect(FolderTable.allowed[module] != nil, "Add \(module) to the table of folders.")
      }
    }
  }

  @Test func `a folder uses another when it names its type`() {
    let graph = FolderGraph(
      module: "M",
      files: [
        SourceFile(path: "M/A/One.swift", text: "struct One { let two: Two? }\nprivate struct Hidden {}"),
        SourceFile(path: "M/B/Two.swift", text: "class Two { struct Three {} }\n// One\nlet name = \"One\""),
        SourceFile(path: "M/C/Three.swift", text: "enum Three {}\nlet member = Other.One()"),
        SourceFile(path: "M/D/Hidden.swift", text: "func f(_ hidden: Hidden, _ three: Three) { \"\\(One())\" }"),
      ])
    #expect(graph.folders == ["A", "B", "C", "D"])
    #expect(graph.used(by: "A") == ["B"])
    #expect(graph.used(by: "B") == [])
    #expect(graph.used(by: "C") == [])
    #expect(graph.used(by: "D") == ["A", "C"])
    #expect(graph.mutualPairs(of: "M") == [])
  }

  @Test func `two folders that name each other's types are a pair`() {
    let files = [
      SourceFile(path: "M/A/One.swift", text: "struct One { let two: Two? }"),
      SourceFile(path: "M/B/Two.swift", text: "final class Two { let one: One? }"),
    ]
    #expect(FolderGraph(module: "M", files: files).mutualPairs(of: "M") == [FolderPair("M", "B", "A")])
  }

  @Test func `folders that use each other in a circle have no order`() {
    let files = [
      SourceFile(path: "M/A/One.swift", text: "struct One { let two: Two? }"),
      SourceFile(path: "M/B/Two.swift", text: "struct Two { let three: Three? }"),
      SourceFile(path: "M/C/Three.swift", text: "final class Three { let one: One? }"),
      SourceFile(path: "M/D/Four.swift", text: "struct Four {}"),
    ]
    let graph = FolderGraph(module: "M", files: files)
    #expect(graph.unorderedFolders(of: "M", besides: []) == ["A", "B", "C"])
    #expect(graph.unorderedFolders(of: "M", besides: [FolderPair("M", "A", "C")]) == [])
  }
}
