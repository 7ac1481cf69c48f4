import CoherenceCore
import Foundation

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// Builds the tree of a file of XML with the parser of the platform.
final class XMLTreeParser: NSObject, XMLParserDelegate {
  private var root: XMLNode?
  private var open: [XMLNode] = []
  private var failure: XMLFault?
  private let path: String

  private init(path: String) { self.path = path }

  /// The root element of a file.
  ///
  /// Checks the bytes with ``XMLGuard`` first.
  ///
  /// - Parameter isPropertyList: Whether the file may begin with the document type of property lists, which is ignored.
  /// - Throws: ``XMLFault``.
  static func parse(_ data: Data, path: String, isPropertyList: Bool = false) throws(XMLFault) -> XMLNode {
    var data = data
    if isPropertyList { data = withoutPropertyListType(data) }
    try check(data, path: path)
    let reader = XMLTreeParser(path: path)
    let parser = XMLParser(data: data)
    parser.shouldResolveExternalEntities = false
    parser.delegate = reader
    // The result is true for some files with errors; the delegate sees every error.
    _ = parser.parse()
    if let failure = reader.failure { throw failure }
    guard let root = reader.root, reader.open.isEmpty else {
      throw XMLFault("the file ends before its root element", path: path)
    }
    return root
  }

  private static func check(_ data: Data, path: String) throws(XMLFault) {
    if data.isEmpty { throw XMLFault("the file is empty", path: path) }
    // Other encodings would hide their declarations from the guard.
    let result = data.withUnsafeBytes { raw -> Result<Void, XMLFault> in
      let bytes = raw.bindMemory(to: UInt8.self)
      do throws(XMLFault) {
        try XMLGuard.check(bytes, path: path)
        guard Self.isUTF8(bytes) else {
          throw XMLFault("the file is not in UTF-8", path: path)
        }
        return .success(())
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }

  /// Whether the bytes are valid UTF-8 and the XML declaration names no other encoding.
  private static func isUTF8(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard !bytes.contains(0), String(validating: bytes, as: UTF8.self) != nil else { return false }
    let declaration = String(decoding: bytes.prefix(200), as: UTF8.self)
    guard let start = declaration.range(of: "<?xml "), let end = declaration.range(of: "?>"),
      start.upperBound <= end.lowerBound
    else { return true }
    let text = declaration[start.upperBound..<end.lowerBound].lowercased()
    guard let encoding = text.range(of: "encoding") else { return true }
    return text[encoding.upperBound...].contains("utf-8")
  }

  /// Replaces the document type of property lists by white space; lines keep their numbers.
  private static func withoutPropertyListType(_ data: Data) -> Data {
    let head = data.prefix(1000)
    guard let start = head.range(of: Data("<!DOCTYPE plist PUBLIC ".utf8)),
      let end = head[start.upperBound...].firstIndex(of: UInt8(ascii: ">")),
      !head[start.upperBound..<end].contains(UInt8(ascii: "["))
    else { return data }
    var data = data
    for index in start.lowerBound...end where data[index] != UInt8(ascii: "\n") { data[index] = UInt8(ascii: " ") }
    return data
  }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    let node = XMLNode(name, attributes: attributes, line: parser.lineNumber)
    if let parent = open.last {
      parent.append(node)
    } else if root == nil {
      root = node
    }
    open.append(node)
  }

  func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
    _ = open.popLast()
  }

  func parser(_ parser: XMLParser, foundCharacters characters: String) {
    if characters.utf8.contains(where: { !Self.whiteSpace.contains($0) }) { open.last?.append(characters) }
  }

  private static let whiteSpace = Set(" \t\r\n".utf8)

  func parser(_ parser: XMLParser, foundCDATA block: Data) {
    open.last?.append(String(decoding: block, as: UTF8.self))
  }

  func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) {
    guard failure == nil else { return }
    failure = XMLFault(
      "the text is not well-formed XML (error \((error as NSError).code) of the parser)", path: path,
      line: max(1, parser.lineNumber), element: open.last?.title)
    parser.abortParsing()
  }
}
