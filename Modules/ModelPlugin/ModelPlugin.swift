import Foundation
import PackagePlugin

/// Writes the classes of a target's model files into a source file for each, at every build that finds a changed file.
@main
struct ModelPlugin: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) async throws -> [Command] {
    guard let module = target as? any SourceModuleTarget else { return [] }
    let tool = try context.tool(named: "coherence-model-tool").url
    let models = Set(module.sourceFiles.compactMap { model(of: $0.url, in: module.directoryURL) })
    let modelsByName = Dictionary(grouping: models) { $0.deletingPathExtension().lastPathComponent.lowercased() }
    return try modelsByName.values.sorted { $0[0].path < $1[0].path }.map { same in
      guard same.count == 1 else {
        let paths = same.map(\.path).sorted().joined(separator: "' and '")
        throw ModelPluginError(description: "The model files '\(paths)' have the same name; rename one of them.")
      }
      return command(for: same[0], tool: tool, folder: context.pluginWorkDirectoryURL)
    }
  }

  private func command(for model: URL, tool: URL, folder: URL) -> Command {
    let name = model.deletingPathExtension().lastPathComponent
    let source = folder.appending(path: "\(name)+Entities.swift")
    return .buildCommand(
      displayName: "Writing the classes of \(model.lastPathComponent)", executable: tool,
      arguments: [model.path, source.path], inputFiles: files(in: model), outputFiles: [source])
  }

  /// The outermost package of model files that contains a file of the target; `nil` for another file.
  private func model(of file: URL, in target: URL) -> URL? {
    let inside = file.pathComponents.dropFirst(target.pathComponents.count)
    guard let index = inside.firstIndex(where: { $0.hasSuffix(".xcdatamodeld") || $0.hasSuffix(".xcdatamodel") }) else {
      return nil
    }
    let components = file.pathComponents[...index]
    return URL(fileURLWithPath: components.dropFirst().reduce("") { "\($0)/\($1)" }, isDirectory: true)
  }

  /// The files of a model, because a build looks at the dates of files and not at folders.
  private func files(in model: URL) -> [URL] {
    let names = FileManager.default.enumerator(atPath: model.path)?.compactMap { $0 as? String } ?? []
    return names.filter { $0.hasSuffix("contents") || $0.hasSuffix(".xccurrentversion") }.sorted()
      .map { model.appending(path: $0) }
  }
}

/// A reason why a target's classes cannot be written.
struct ModelPluginError: Error, CustomStringConvertible {
  let description: String
}
