import CoherenceCore
public import Foundation

extension ModelFile {
  /// Reads the text of a model: the file `contents` of an `.xcdatamodel` package.
  ///
  /// Never reads other files or the network. Refuses documents with a document type, more than 8 MB, elements deeper
  /// than 64, or more than 256 attributes in an element, in time proportional to the size.
  ///
  /// - Parameters:
  ///   - xml: The text, in UTF-8.
  ///   - name: The name of the model.
  ///   - path: The path of the file in messages.
  /// - Throws: ``/CoherenceCore/ErrorCode/invalidModel``, naming the file, the line and the element of the first fault.
  public init(xml: Data, named name: String? = nil, path: String = "contents") throws {
    do throws(XMLFault) {
      var decoder = ModelDecoder(path: path)
      self = try decoder.file(try XMLTreeParser.parse(xml, path: path), name: name)
    } catch {
      throw error.error
    }
  }
}
